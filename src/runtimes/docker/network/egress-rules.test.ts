import { expect, test } from 'vitest';
import { parseEgress } from '../../../config/egress.ts';
import { bridgeKeyOf, listApis, planClosing, planRemoval, planRules, planUnhookGroups } from './egress-rules.ts';

const BRIDGE = {
  name: 'br-0123456789ab',
  settings: parseEgress('lan', undefined),
  engine: { isolatesNeighbors: true, callsUserChain: true },
  filtersBridges: false,
};
const ONE = { installation: 'one', host: '10.7.0.1', port: 4001 };
const OTHER = { installation: 'other', host: '10.7.0.1', port: 4002 };
const ENGINE = [
  '-P INPUT ACCEPT',
  '-P FORWARD DROP',
  '-N DOCKER-USER',
  '-A FORWARD -j DOCKER-USER',
  '-A DOCKER-USER -j RETURN',
];
const PODMAN = ['-P INPUT ACCEPT', '-P FORWARD ACCEPT', '-N NETAVARK', '-A FORWARD -j NETAVARK'];

/** Applies lines as iptables-restore does, to what `iptables -S` would print. Throws where it would fail. */
function apply(current: readonly string[], lines: readonly string[]): string[] {
  const rules = [...current];
  for (const line of lines) {
    const [, command, chain] = /^-(\w) (\S+)/.exec(line)!;
    const at = rules.indexOf(line.replace(/^-D /, '-A '));
    const ofChain = (text: string) => text.startsWith(`-A ${chain} `);
    if (command === 'N' && rules.includes(line)) throw new Error(`${chain} exists`);
    if (command === 'D' && at === -1) throw new Error(`there is no ${line}`);
    if (command === 'X' && rules.some(ofChain)) throw new Error(`${chain} is not empty`);
    if (command === 'N' || command === 'A') rules.push(line);
    else if (command === 'D') rules.splice(at, 1);
    else if (command === 'X') rules.splice(rules.indexOf(`-N ${chain}`), 1);
    else if (command === 'F') rules.splice(0, rules.length, ...rules.filter((text) => !ofChain(text)));
    else if (command === 'I') {
      const first = rules.findIndex(ofChain);
      rules.splice(first === -1 ? rules.length : first, 0, line.replace(/^-I (\S+) 1 /, '-A $1 '));
    }
  }
  return rules;
}

const planned = (current: readonly string[], api = ONE) => apply(current, planRules(4, current, BRIDGE, api));

test.each([
  ['a Docker engine', ENGINE, 'DOCKER-USER'],
  ['an engine without DOCKER-USER', PODMAN, 'FORWARD'],
])('on %s, rules are set once and then found in place', (_, current, parent) => {
  const rules = planned(current);
  expect(rules.filter((line) => line.includes('-i br-0123456789ab'))).toEqual(
    expect.arrayContaining([
      '-A INPUT -i br-0123456789ab -j PODYARD-HOST-0123456789ab',
      `-A ${parent} -i br-0123456789ab -j PODYARD-EGRESS-0123456789ab`,
    ]),
  );
  expect(planRules(4, rules, BRIDGE, ONE)).toEqual([]);
  expect(planRules(6, apply(current, planRules(6, current, BRIDGE, ONE)), BRIDGE, ONE)).toEqual([]);
});

test('a rule keeps containers apart where the engine does not, whatever the settings', () => {
  const engine = { isolatesNeighbors: false, callsUserChain: false };
  const between = '-A PODYARD-EGRESS-0123456789ab -o br-0123456789ab -j REJECT';
  for (const mode of ['lan', 'internet', 'all']) {
    const bridge = { ...BRIDGE, settings: parseEgress(mode, undefined), engine };
    const rules = apply(PODMAN, planRules(4, PODMAN, bridge, ONE));
    expect(rules.filter((line) => line.startsWith(between))).toHaveLength(1);
    expect(rules).toContain('-A INPUT -i pyg-+ -j REJECT --reject-with icmp-port-unreachable');
    expect(planRules(4, rules, bridge, ONE)).toEqual([]);
    const everything = rules.filter((line) => /^-A PODYARD-(HOST|EGRESS)\S+ -m comment .*-j RETURN/.test(line));
    expect(everything).toHaveLength(mode === 'all' ? 2 : 1);
  }
  expect(planned(ENGINE).join()).not.toContain('-o br-');
});

test('beside a Docker engine, Podman’s rules come before Podman accepts what containers send', () => {
  const both = [...ENGINE.slice(0, 3), '-N NETAVARK_FORWARD', '-A FORWARD -j NETAVARK_FORWARD', ...ENGINE.slice(3)];
  const bridge = { ...BRIDGE, engine: { isolatesNeighbors: false, callsUserChain: false } };
  const forward = apply(both, planRules(4, both, bridge, ONE)).filter((line) => line.startsWith('-A FORWARD'));
  expect(forward[0]).toBe('-A FORWARD -i br-0123456789ab -j PODYARD-EGRESS-0123456789ab');
});

test('where a Docker beside Podman drops what nobody accepts, containers of a group still reach each other', () => {
  const engine = { isolatesNeighbors: false, callsUserChain: false };
  const bridge = { ...BRIDGE, engine, filtersBridges: true };
  const accepted = '-A FORWARD -i pyg-+ -m physdev --physdev-is-bridged -j ACCEPT';
  const rules = apply(PODMAN, planRules(4, PODMAN, bridge, ONE));
  expect(rules).toContain(accepted);
  const printed = rules.map((line) => line.replace('physdev --', 'physdev  --')); // as iptables does
  expect(planRules(4, printed, bridge, ONE)).toEqual([]);
  expect(apply(rules, planUnhookGroups(rules)).join()).not.toContain('pyg-');
  expect(planRules(6, PODMAN, bridge, ONE).join()).not.toContain('physdev');
  expect(planRules(4, PODMAN, { ...bridge, filtersBridges: false }, ONE).join()).not.toContain('physdev');
});

test('whichever rule is missing, doubled or foreign, the plan restores them all', () => {
  const rules = planned(planned(ENGINE), OTHER);
  const sorted = (lines: readonly string[]) => [...lines].sort();
  const ours = rules.flatMap((line, at) => (line.startsWith('-A') && line.includes('PODYARD') ? [at] : []));
  expect(ours.length).toBeGreaterThan(10);
  for (const at of ours) {
    const isOthers = listApis([rules[at]!])[0]?.installation === 'other';
    if (isOthers) continue; // its server restores it
    expect(sorted(planned(rules.filter((_, i) => i !== at)))).toEqual(sorted(rules));
    expect(sorted(planned(rules.toSpliced(at, 0, rules[at]!)))).toEqual(sorted(rules));
  }
  const foreign = rules.toSpliced(ours.at(-1)!, 0, '-A PODYARD-EGRESS-0123456789ab -j ACCEPT');
  expect(sorted(planned(foreign))).toEqual(sorted(rules));
});

test('another setting of the same bridge replaces the rules', () => {
  const rules = planned(ENGINE);
  const stricter = { ...BRIDGE, settings: parseEgress('internet', '10.1.0.0/16') };
  const changed = apply(rules, planRules(4, rules, stricter, ONE)).filter((line) => line.includes('-A PODYARD-EGRESS'));
  const at = (text: string) => changed.findIndex((line) => line.includes(text));
  expect(at('-d 169.254.0.0/16')).toBeLessThan(at('-d 10.1.0.0/16'));
  expect(at('-d 10.1.0.0/16')).toBeLessThan(at('-d 10.0.0.0/8'));
});

test('in FORWARD the rules come before those of the engine, even if it adds its own later', () => {
  const rules = planned(PODMAN);
  const later = rules.toSpliced(
    rules.findIndex((line) => line.startsWith('-A FORWARD')),
    0,
    '-A FORWARD -j NETAVARK',
  );
  const first = planned(later).find((line) => line.startsWith('-A FORWARD'));
  expect(first).toBe('-A FORWARD -i br-0123456789ab -j PODYARD-EGRESS-0123456789ab');
});

test('two servers open their own worker API each; a new port replaces the old one', () => {
  const both = planned(planned(ENGINE), OTHER);
  expect(
    listApis(both)
      .map(({ port }) => port)
      .sort(),
  ).toEqual([4001, 4002]);
  const moved = planned(both, { ...OTHER, port: 4003 });
  expect(
    listApis(moved)
      .map(({ port }) => port)
      .sort(),
  ).toEqual([4001, 4003]);
  const closed = apply(
    moved,
    planClosing(moved, ({ installation }) => installation === 'one'),
  );
  expect(listApis(closed).map(({ port }) => port)).toEqual([4003]);
});

test('removing leaves nothing, and fails if a server has added its worker API meanwhile', () => {
  const rules = planned(ENGINE);
  const removal = planRemoval(rules, bridgeKeyOf(BRIDGE.name));
  expect(apply(rules, removal).sort()).toEqual([...ENGINE].sort());
  expect(() => apply(planned(rules, OTHER), removal)).toThrow('is not empty');
});

test('a server that creates the chains second fails, and then adds its own rule', () => {
  const plan = planRules(4, ENGINE, BRIDGE, OTHER);
  const rules = planned(ENGINE);
  expect(() => apply(rules, plan)).toThrow('exists');
  expect(listApis(planned(rules, OTHER))).toHaveLength(2);
});

test('comments are found with and without quotes; names of chains have at most 28 characters', () => {
  const quoted = planned(ENGINE).map((line) => line.replace(/--comment (\S+)/, '--comment "$1"'));
  expect(planRules(4, quoted, BRIDGE, ONE)).toEqual([]);
  expect(`PODYARD-EGRESS-${bridgeKeyOf('a-name-as-long')}`.length).toBeLessThanOrEqual(28);
});
