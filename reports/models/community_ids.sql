-- One row per TCP or UDP pair of ends that is compared with Zeek's: its Community ID, version 1
-- with seed 0, by which other programs identify flows. github.com/corelight/community-id-spec
with

pairs as (
    select distinct
        protocol,
        low,
        high,
    from agreements
    where protocol in ('tcp', 'udp')
),

ends as (
    select
        *,
        side,
        split_part(side, ' ', 1) as address,
        printf('%04x', split_part(side, ' ', 2)::integer) as port,
    from pairs, unnest([low, high]) as of_pair (side)
),

-- Groups of IPv6 before and after '::'
halves as (
    select
        *,
        list_filter(string_split(split_part(address, '::', 1), ':'), lambda x: x <> '') as before,
        list_filter(string_split(split_part(address, '::', 2), ':'), lambda x: x <> '') as behind,
    from ends
),

-- In network byte order, as hexadecimal digits
octets as (
    select
        *,
        case
            when not contains(address, ':')
                then list_transform(
                    string_split(address, '.'), lambda x: printf('%02x', x::integer)
                )
            -- IPv6 addresses that end in an IPv4 address in dotted form are left out.
            when not contains(address, '.')
                then list_transform(
                    before
                    || list_transform(range(8 - len(before) - len(behind)), lambda x: '0')
                    || behind,
                    lambda x: lpad(x, 4, '0')
                )
        end as groups,
    from halves
),

-- The smaller end, by address and then by port, comes first.
ordered as (
    select
        protocol,
        low,
        high,
        min(array_to_string(groups, '') || port) as first_end,
        max(array_to_string(groups, '') || port) as other_end,
    from octets
    group by protocol, low, high
),

final as (
    select
        protocol,
        low,
        high,
        '1:' || to_base64(unhex(sha1(unhex(
            '0000'
            || first_end[:-5]
            || other_end[:-5]
            || if(protocol = 'tcp', '06', '11')
            || '00'
            || first_end[-4:]
            || other_end[-4:]
        )))) as community_id,
    from ordered
)

select * from final
