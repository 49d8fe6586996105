import type { Schemas } from '../../api/client.ts';

const WAYS: Record<Schemas['Session']['madeBy'], string> = {
  KEY: 'API key',
  OIDC: '',
  PASSWORD: 'Password',
  PASSKEY: 'Passkey',
  PROXY: '',
};

const BROWSERS = ['Edg', 'OPR', 'Firefox', 'Chrome', 'Safari'] as const;
const BROWSER_NAMES: Partial<Record<string, string>> = { Edg: 'Edge', OPR: 'Opera' };
const SYSTEMS: readonly [part: string, name: string][] = [
  ['Android', 'Android'],
  ['iPhone', 'iOS'],
  ['iPad', 'iPadOS'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
];

/** Returns "Firefox on Linux", or what the browser called itself. */
export function browserOf({ userAgent }: Pick<Schemas['Session'], 'userAgent'>): string {
  if (userAgent === null) return 'Unknown browser';
  const browser = BROWSERS.find((name) => userAgent.includes(`${name}/`));
  if (browser === undefined) return userAgent;
  const [, system] = SYSTEMS.find(([part]) => userAgent.includes(part)) ?? [];
  return `${BROWSER_NAMES[browser] ?? browser}${system === undefined ? '' : ` on ${system}`}`;
}

/** Returns "API key admin", or the provider's name. */
export function wayOf({ madeBy, madeWith }: Pick<Schemas['Session'], 'madeBy' | 'madeWith'>): string {
  return [WAYS[madeBy], madeWith].filter(Boolean).join(' ');
}
