import { isIP } from 'node:net';
import { UsageError } from '../core/usage-error.ts';
import { isPort, parseNetworkAndPort } from './parse-setting.ts';
import { onOff, setting, type ValuesOf } from './setting.ts';

/** A receiver of webhooks that is not on the public internet: all its ports, or one. */
export type AllowedReceiver = ({ network: string } | { host: string }) & { port: number | null };

/** Where webhooks may go besides the public internet. */
export const WEBHOOKS = {
  allowed: setting({
    variable: 'PODYARD_WEBHOOK_NETWORKS',
    flag: 'webhookNetworks',
    takes: '<receivers>',
    default: '',
    shownDefault: 'none',
    parse: (_name, text) => parseWebhookNetworks(text),
    page: 'Where [webhooks](guide/security.md#webhooks) may go besides the public internet: `10.0.5.0/24,127.0.0.1:9000,hooks.lan`',
    help: 'where webhooks may go besides the public internet, e.g. 10.0.5.0/24,127.0.0.1:9000,hooks.lan',
  }),
  allowPrivate: onOff({
    variable: 'PODYARD_ALLOW_PRIVATE_WEBHOOKS',
    default: false,
    page: 'Allows webhooks to all private addresses and to this machine: rather name networks with `--webhook-networks`',
  }),
};

export type WebhookSettings = ValuesOf<typeof WEBHOOKS>;

/** Reads `--webhook-networks`. Throws a sentence with the setting, its value and what is allowed. */
export function parseWebhookNetworks(value = ''): readonly AllowedReceiver[] {
  return value.split(',').flatMap((item) => (item.trim() === '' ? [] : [parseReceiver(item.trim())]));
}

function parseReceiver(item: string): AllowedReceiver {
  const parsed = parseNetworkAndPort(item);
  if (parsed !== null) return { network: parsed.network, port: parsed.port };
  const [, wildcard = '', name = '', portText] = /^(\*\.)?([^*:/@?#\s[\]]+)(?::(\d{1,5}))?$/.exec(item) ?? [];
  const host = hostOf(name);
  const port = portText === undefined ? null : Number(portText);
  if (host === null || (port !== null && !isPort(port))) {
    throw new UsageError(
      `--webhook-networks has '${item}', but takes networks and hosts with an optional port, e.g. 10.0.5.0/24,127.0.0.1:9000,hooks.lan`,
    );
  }
  return { host: wildcard + host, port };
}

/** Returns a name as URLs have it; null for one that is not a name there, such as 300.1.1.1, or another spelling of an address. */
function hostOf(name: string): string | null {
  if (name === '' || !URL.canParse(`http://${name}`)) return null;
  const host = new URL(`http://${name}`).hostname.replace(/\.$/, '');
  return host === '' || isIP(host) !== 0 ? null : host;
}
