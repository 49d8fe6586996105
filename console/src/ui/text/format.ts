const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const USD = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD', maximumFractionDigits: 4 });
const CENTS = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });
/** A measured share has one decimal, also where it is 0, so that those of a column stand below each other. */
const PERCENT = new Intl.NumberFormat(undefined, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const NUMBER = new Intl.NumberFormat(undefined);

/** Placeholder for a missing value. */
export const NO_VALUE = '–';

export function formatDate(time: string | null | undefined): string {
  return time ? DATE.format(new Date(time)) : NO_VALUE;
}

export function formatUsd(amount: number): string {
  return USD.format(amount);
}

/** An amount that was spent: in cents, `<$0.01` for less. */
export function formatCost(amount: number): string {
  if (amount > 0 && amount < 0.01) return '<$0.01';
  return CENTS.format(amount);
}

export function formatNumber(value: number): string {
  return NUMBER.format(value);
}

/** `0.3 %`, `80.0 %`: on one line. */
export function formatPercent(percent: number): string {
  return `${PERCENT.format(percent)}\u00a0%`;
}

/** `0.03`, `4.2`, `120`: a rate per second. */
export function formatRate(perSecond: number): string {
  if (perSecond === 0) return NO_VALUE;
  if (perSecond < 0.01) return '<0.01';
  return formatNumber(Number(perSecond.toFixed(perSecond < 0.1 ? 2 : perSecond < 10 ? 1 : 0)));
}

/** `1 worker`, `2 workers`. */
export function formatCount(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** `850 ms`, `1.2 s`, `3 min 4 s`, `2 h 5 min`, `3 d 4 h`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
