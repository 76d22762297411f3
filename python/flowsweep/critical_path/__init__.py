"""The critical path of a run: which computing and which messages its completion time is made of."""
