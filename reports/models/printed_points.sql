-- One row per point as figures print it: RTT and rate are rounded.
select
    * exclude (label) replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s
    ),
from points
