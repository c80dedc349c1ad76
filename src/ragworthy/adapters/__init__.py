"""Files of other tools: read strictly, converted to our records and back."""
