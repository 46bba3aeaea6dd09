"""Events from brokers: Kafka, Redis Streams and NATS JetStream, read without losing or repeating one.

A broker gives messages with their positions; each message is a line of JSON, read by the readers of `weft.streams`.
How far a broker was read is saved together with the model (`weft.cli.progress_file`), and only then told to the broker:
where the two differ, as after a kill, the model's own position counts.
"""
