import { resolve } from 'node:path';
import { optional, seconds } from './setting.ts';

const DAY = 86_400;

/** How people sign in, and for how long. */
export const SIGN_IN = {
  /** Null: with API keys, and with the passwords and passkeys of invited users. */
  providersFile: optional({
    variable: 'PODYARD_SIGN_IN',
    flag: 'signIn',
    takes: '<file>',
    shownDefault: 'API keys and local accounts',
    parse: (_name, text) => resolve(text),
    page: 'Identity providers, a proxy and local accounts that people [sign in](guide/sign-in.md) with',
    help: 'how people sign in: identity providers, a proxy, local accounts',
    chart: { value: 'signInSecret', as: 'template' },
  }),
  idleMs: seconds({
    variable: 'PODYARD_SESSION_IDLE_SECONDS',
    default: 7 * DAY,
    max: 365 * DAY,
    page: 'A browser that was not used for so long has to sign in again',
  }),
  maxMs: seconds({
    variable: 'PODYARD_SESSION_SECONDS',
    default: 30 * DAY,
    max: 365 * DAY,
    page: 'How long a browser stays signed in at most',
  }),
};
