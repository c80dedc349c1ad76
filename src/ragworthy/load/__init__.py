"""Reading what people and pipelines wrote: records, policy, lock, baseline, packs."""
