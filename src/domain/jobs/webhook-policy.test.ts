import { networkInterfaces } from 'node:os';
import { describe, expect, test } from 'vitest';
import { parseWebhookNetworks } from '../../config/webhook-settings.ts';
import { WebhookPolicy, WebhookRefused } from './webhook-policy.ts';

const policy = (networks?: string, allowPrivate = false) =>
  new WebhookPolicy({ allowPrivate, allowed: parseWebhookNetworks(networks) });
const faultOf = (host: string, networks?: string) => policy(networks).findFault(`http://${host}/hook`);
const strict = policy();

const SETTING = '--webhook-networks (PODYARD_WEBHOOK_NETWORKS)';
const own = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .filter(({ address }) => !address.startsWith('fe80'));

describe('without a setting', () => {
  test.each([
    ...['10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', '198.18.0.1', '224.0.0.1'],
    ...['255.255.255.255', '192.0.2.10', '198.51.100.10', '203.0.113.10', '192.88.99.1'],
    ...[
      '[::127.0.0.1]',
      '[::ffff:10.0.0.1]',
      '[64:ff9b::7f00:1]',
      '[64:ff9b:1::1]',
      '[2002:7f00:1::]',
      '[2001::7f00:1]',
    ],
    ...['[fc00::1]', '[fd12:3456::1]', '[fec0::1]', '[ff02::1]', '[2001:db8::1]', '[3fff::1]', '[5f00::1]', '[100::1]'],
  ])('%s is refused as private or reserved, with the setting that allows it', (host) => {
    const fault = faultOf(host);
    expect(fault).toContain('is a private or reserved address, which webhooks do not reach');
    expect(fault).toContain(SETTING);
  });

  test.each([
    ...['127.0.0.1', '127.255.255.254', '127.1', '0.0.0.0', '0', '2130706433', '0x7f.1', '0177.0.0.1', '127.0.0.1.'],
    ...[
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      'localhost',
      'LOCALHOST',
      'localhost.',
      'a.localhost',
    ],
  ])("%s is refused as the server's own machine", (host) => {
    const fault = faultOf(host);
    expect(fault).toContain("is an address of the server's own machine, which webhooks do not reach");
    expect(fault).toContain(SETTING);
  });

  test('every address of a network interface is refused, also as IPv6 maps it', () => {
    const spellings = own.flatMap(({ address, family }) =>
      family === 'IPv6' ? [`[${address}]`] : [address, `[::ffff:${address}]`],
    );
    expect(spellings.length).toBeGreaterThan(1);
    for (const host of spellings) expect(faultOf(host), host).toContain("the server's own machine");
  });

  test.each(['1.1.1.1', '172.15.0.1', '172.32.0.1', '100.63.0.1', '[::ffff:8.8.8.8]', '[2606:4700:4700::1111]'])(
    '%s is public',
    (host) => {
      expect(faultOf(host)).toBeNull();
    },
  );

  test('a name is judged when the webhook is sent', async () => {
    expect(faultOf('hooks.example.com')).toBeNull();
    await expect(strict.resolve(new URL('http://localhost:1/'))).rejects.toThrow(WebhookRefused);
  });

  test('of a name that nothing has, the host is told and not the call of the system', async () => {
    const sending = strict.resolve(new URL('https://nothing.invalid/'));
    await expect(sending).rejects.toThrow(/^(there is no host named|no name server answered for) nothing\.invalid$/);
  });

  test('what is no http or https URL is refused in words', () => {
    for (const text of ['ftp://example.com', 'example.com', 'http://', 'http://a\0b', 'javascript:alert(1)', 7, {}]) {
      expect(strict.findFault(text)).toBe('must be an http or https URL');
    }
  });
});

describe('the setting', () => {
  test('opens a network, and no other', async () => {
    expect(faultOf('10.0.5.9', '10.0.5.0/24')).toBeNull();
    expect(faultOf('10.0.6.9', '10.0.5.0/24')).toContain('private');
    expect(await policy('10.0.5.0/24').resolve(new URL('http://10.0.5.9/'))).toEqual({
      address: '10.0.5.9',
      family: 4,
    });
    expect(await policy('fd00::/8').resolve(new URL('https://[fd00::9]/'))).toEqual({ address: 'fd00::9', family: 6 });
  });

  test('opens one port, where it names one', () => {
    for (const entry of ['10.0.5.9:8443', '10.0.5.0/24:8443']) {
      expect(faultOf('10.0.5.9:8443', entry)).toBeNull();
      expect(faultOf('10.0.5.9', entry)).toContain('private');
    }
    expect(policy('10.0.5.9:443').findFault('https://10.0.5.9/')).toBeNull();
    expect(policy('10.0.5.9:443').findFault('http://10.0.5.9/')).toContain('private');
  });

  test('opens a host by name, or all below one, whatever it stands for', async () => {
    const found = await policy('localhost:9000').resolve(new URL('http://localhost:9000/'));
    expect(['127.0.0.1', '::1']).toContain(found.address);
    await expect(policy('localhost:9000').resolve(new URL('http://localhost:9001/'))).rejects.toThrow(WebhookRefused);
    expect(faultOf('a.localhost', '*.localhost')).toBeNull();
    expect(faultOf('localhost', '*.localhost')).toContain("the server's own machine");
    expect(faultOf('127.0.0.1', 'localhost')).toContain("the server's own machine");
  });

  test('opens own addresses one by one: a network around the machine is opened for its other hosts', () => {
    const { address } = own.find(({ family, internal }) => family === 'IPv4' && !internal)!;
    const around = `${address.replace(/\.\d+$/, '.0')}/24`;
    expect(faultOf(address, around)).toContain("the server's own machine");
    expect(faultOf(address, '0.0.0.0/0')).toContain("the server's own machine");
    expect(faultOf('127.0.0.1', '0.0.0.0/0')).toContain("the server's own machine");
    expect(faultOf('[::1]', '::/0')).toContain("the server's own machine");
    expect(faultOf(address, address)).toBeNull();
    expect(faultOf(address, `${address}/32`)).toBeNull();
    expect(faultOf('127.0.0.5', '127.0.0.0/8')).toBeNull();
  });

  test('reaches a name by the address that is allowed', async () => {
    expect(await policy('127.0.0.1').resolve(new URL('http://localhost/'))).toEqual({
      address: '127.0.0.1',
      family: 4,
    });
  });

  test.each([
    '169.254.169.254',
    '100.100.100.200',
    '168.63.129.16',
    '[fe80::1]',
    '[fd00:ec2::254]',
    '[::ffff:a9fe:a9fe]',
  ])("never opens %s: it is link-local or one of the cloud's own services", async (host) => {
    for (const one of [
      strict,
      policy('0.0.0.0/0,::/0'),
      policy(host.includes(':') ? '::/0' : host),
      policy('', true),
    ]) {
      expect(one.findFault(`http://${host}/`)).toMatch(/is a link-local address or one of the cloud's own services/);
      await expect(one.resolve(new URL(`http://${host}/`))).rejects.toThrow(WebhookRefused);
    }
  });

  test('all private and own addresses at once are opened by the switch', async () => {
    const all = policy('', true);
    expect(await all.resolve(new URL('http://127.0.0.1/'))).toEqual({ address: '127.0.0.1', family: 4 });
    expect(await all.resolve(new URL('http://[::1]/'))).toEqual({ address: '::1', family: 6 });
    expect(all.findFault('http://192.168.1.1/')).toBeNull();
  });
});
