"""Indexes: lexical, dense and hybrid search over chunks, kept in a folder that can be checked."""
