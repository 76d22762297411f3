-- So much of a time of `total` ns may lie above the quantile q.
create or replace temp macro above_ns(total, q) as
total - ceil(total * q - 0.001);

-- Four decimals, or so many that a small value keeps three digits and does not become 0.
create or replace temp macro rounded(value) as
round(value, greatest(4, 2 - floor(log10(greatest(abs(value), 1e-30))))::integer);
