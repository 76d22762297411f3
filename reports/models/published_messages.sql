-- Tables 1 (loss) and 2 (jitter) of the UKLight paper: seconds for one message, one way, over 300
-- Mbit/s. MB of 2^20 bytes. The paper gives jitter no unit; reports/papers/uklight/README.md
-- explains why it is milliseconds.
select
    (cell ->> 'message_mb')::double as message_mb,
    coalesce((cell ->> 'loss_percent')::double, 0) as loss_percent,
    coalesce((cell ->> 'jitter')::double, 0) as jitter_ms,
    (cell ->> 'latency_ms')::double as latency_ms,
    published as published_s,
from paper_items
where paper = 'uklight' and item in ('table 1', 'table 2')
