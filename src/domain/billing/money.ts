/**
 * Money is exact: PostgreSQL adds up `numeric`, the API spells amounts as decimal text, and what is computed here is computed in
 * whole units of 1e-12 USD, the last decimal that is metered. Amounts are never floating-point numbers.
 */
const DECIMALS = 12;
const UNITS_A_DOLLAR = 10n ** BigInt(DECIMALS);
const AMOUNT = /^(-?)(\d+)(?:\.(\d+))?$/;

/** Returns an amount such as `12.5` in units of 1e-12 USD. Further decimals are cut off. */
export function toUnits(amount: string): bigint {
  const [, sign, dollars, fraction = ''] = AMOUNT.exec(amount) ?? [];
  if (dollars === undefined) throw new Error(`'${amount}' is not an amount`);
  const units = BigInt(dollars) * UNITS_A_DOLLAR + BigInt(fraction.slice(0, DECIMALS).padEnd(DECIMALS, '0'));
  return sign === '-' ? -units : units;
}

/** Returns units as an amount, without zeros at its end: `12.5`. */
export function fromUnits(units: bigint): string {
  const absolute = units < 0n ? -units : units;
  const fraction = String(absolute % UNITS_A_DOLLAR).padStart(DECIMALS, '0');
  let length = DECIMALS;
  while (length > 0 && fraction[length - 1] === '0') length -= 1;
  return `${units < 0n ? '-' : ''}${absolute / UNITS_A_DOLLAR}${length === 0 ? '' : `.${fraction.slice(0, length)}`}`;
}

/** Rounds an amount to cents, for people: `12.50`. */
export function toCents(amount: string): string {
  const cents = (toUnits(amount) + UNITS_A_DOLLAR / 200n) / (UNITS_A_DOLLAR / 100n);
  return `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`;
}

/** SQL that spells a sum without zeros at its end; null is `0`. */
export function amountSql(sum: string): string {
  return `trim_scale(coalesce(${sum}, 0))::text`;
}
