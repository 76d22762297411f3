-- The rate at the quantile q of so many steps, of rank ceil(q n); `rates` has the busy
-- ones, the highest first.
create or replace temp macro rate_at(rates, steps, q) as
coalesce(rates[(steps - ceil(steps * q) + 1)::bigint], 0);
