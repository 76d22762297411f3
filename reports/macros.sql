-- So much of a time of `total` ns may lie above the quantile q.
create or replace temp macro above_ns(total, q) as
total - ceil(total * q - 0.001);
