"""Proof that travels: bundles of a receipt with all that it rests on, signatures, differences of receipts."""
