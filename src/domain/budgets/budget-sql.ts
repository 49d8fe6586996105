/**
 * The rule for when a budget stops, written once. It is derived from the row, never stored: a month that ends, a raised amount and
 * a deleted budget lift it at once, whatever runs or not. The database's clock decides which month it is.
 */

/** The first day of the current month (UTC). */
export const THIS_MONTH = "date_trunc('month', now() at time zone 'UTC')::date";

/** True of a row `b` while nothing more may start. */
export const IS_STOPPED = `(b.action = 'STOP' and b.month = ${THIS_MONTH} and b.spent >= b.amount)`;

/** The cost in the month of the row `b`. The days of an endpoint are looked up one by one along the primary key. */
export const SPENT = `case when b.endpoint_id is null then
    (select coalesce(sum(d.gpu_amount + d.cpu_amount + d.storage_amount), 0) from usage_days d
     where d.user_id = b.user_id and d.day >= b.month and d.day < b.month + interval '1 month')
  else
    (select coalesce(sum(d.gpu_amount + d.cpu_amount + d.storage_amount), 0)
     from generate_series(b.month::timestamp, b.month + interval '1 month' - interval '1 day', interval '1 day') as s (day)
     join usage_days d on d.user_id = b.user_id and d.day = s.day::date and d.kind = 'SERVERLESS'
       and d.resource_id = b.endpoint_id)
  end`;

/** A BudgetStop as JSON, of a row `b`. */
export const STOP_JSON = `jsonb_build_object('amount', trim_scale(b.amount)::text, 'isOfEndpoint', b.endpoint_id is not null,
  'isByAdmin', b.owner = 'ADMIN', 'until', (b.month + interval '1 month')::date::text)`;

/** The budget that stops what the user and endpoint of a row `e` have, as JSON; null: none. Served by the unique key. */
export const STOP_OF_ENDPOINT = `(select ${STOP_JSON} from budgets b
  where b.user_id = e.user_id and (b.endpoint_id is null or b.endpoint_id = e.id) and ${IS_STOPPED}
  order by b.endpoint_id nulls first, b.owner limit 1)`;
