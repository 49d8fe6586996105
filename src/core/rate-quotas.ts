import { UsageError } from './usage-error.ts';

/** The windows of rate limits, shortest first, with their length in seconds. They start on the full minute, hour and UTC day. */
export const RATE_WINDOWS = { minute: 60, hour: 3_600, day: 86_400 } as const;
export type RateWindow = keyof typeof RATE_WINDOWS;

/** How many requests a user may make in each window. */
export type RateQuotas = Readonly<Record<RateWindow, number>>;

const MAX_QUOTA = 1_000_000_000;

/** Parses `minute=60,hour=3000,day=50000`, or some of the three. Throws an error that names the setting. */
export function parseRateQuotas(name: string, text: string): Partial<RateQuotas> {
  const quotas: Partial<Record<RateWindow, number>> = {};
  for (const item of text.split(',')) {
    const [, window, digits] = /^\s*(minute|hour|day)=(\d{1,10})\s*$/.exec(item) ?? [];
    const quota = Number(digits);
    if (window === undefined || quota < 1 || quota > MAX_QUOTA) {
      throw new UsageError(
        `${name} is '${text}', but must be like minute=60,hour=3000,day=50000, each from 1 to ${MAX_QUOTA}`,
      );
    }
    quotas[window as RateWindow] = quota;
  }
  return quotas;
}

/** Returns the text that `parseRateQuotas` parses. */
export function formatRateQuotas(quotas: Partial<RateQuotas>): string {
  const windows = Object.keys(RATE_WINDOWS) as RateWindow[];
  return windows.flatMap((window) => (quotas[window] === undefined ? [] : `${window}=${quotas[window]}`)).join(',');
}
