"""What a value of a record is: a number in text, a date, words; and what the fields of some records seem to be."""
