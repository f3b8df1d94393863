"""What two policy sets, or two points in time, allow differently: who gains and loses what."""
