"""The stability suite: answers over seeds, jitters and paraphrases."""
