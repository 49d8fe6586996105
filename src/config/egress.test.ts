import { expect, test } from 'vitest';
import { parseEgress } from './egress.ts';

test('without a mode it is lan, and not explicit', () => {
  expect(parseEgress(undefined, undefined)).toEqual({ mode: 'lan', allow: [], isExplicit: false });
  expect(parseEgress('internet', '')).toEqual({ mode: 'internet', allow: [], isExplicit: true });
});

test('allowed networks may have a TCP port', () => {
  const { allow } = parseEgress('internet', '10.0.5.0/24, 192.168.1.10:5432,fd00::/8,[fd00::1]:443,[fd00:1::/64]:80');
  expect(allow).toEqual([
    { family: 4, network: '10.0.5.0/24', port: null },
    { family: 4, network: '192.168.1.10', port: 5432 },
    { family: 6, network: 'fd00::/8', port: null },
    { family: 6, network: 'fd00::1', port: 443 },
    { family: 6, network: 'fd00:1::/64', port: 80 },
  ]);
});

test.each([
  '10.0.5.0/33',
  'example.com',
  '10.0.0.1:0',
  '10.0.0.1:70000',
  '10.0.0.0/8/8',
  'fd00::1]:80',
  '[10.0.0.1',
  '10.0.0.1/',
  "1.2.3.4'; reboot",
  'fe80::1%eth0',
])("'%s' is refused", (item) => {
  expect(() => parseEgress('internet', item)).toThrow(`--egress-allow has '${item.trim()}'`);
});

test('an unknown mode, and an allow list without limits, are refused', () => {
  expect(() => parseEgress('none', undefined)).toThrow("--egress is 'none', but must be one of internet, lan, all");
  expect(() => parseEgress('all', '10.0.0.0/8')).toThrow('has no effect with --egress all');
});
