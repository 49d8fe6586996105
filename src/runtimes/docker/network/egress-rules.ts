/**
 * The firewall rules that limit what containers on a bridge can reach, as `iptables -S` prints them and `iptables-restore`
 * reads them. Pure. Each bridge has two chains: PODYARD-HOST-<bridge> for packets to the machine itself, PODYARD-EGRESS-
 * <bridge> for packets that it forwards. Their rules depend on the bridge and the settings alone, so that several servers
 * on one bridge write the same; only the rules that open a server's worker API belong to its installation.
 */

import { createHash } from 'node:crypto';
import type { EgressSettings } from '../../../config/egress.ts';
import { MACHINE_SERVICES } from '../../../domain/images/network-list.ts';
import type { EngineKind } from '../../../engine/engine-kind.ts';
import { GROUP_BRIDGE_PREFIX } from './group-networks.ts';

export type Family = 4 | 6;

export interface LimitedBridge {
  /** The bridge's network interface. */
  name: string;
  settings: EgressSettings;
  engine: Pick<EngineKind, 'isolatesNeighbors' | 'callsUserChain'>;
  /** The machine's IPv4 rules also see what passes from one container to another on any bridge. */
  filtersBridges: boolean;
}

/** A server's worker API, as containers reach it. */
export interface WorkerApi {
  installation: string;
  host: string;
  port: number;
}

/** A worker API that the rules of a bridge open. */
export interface OpenApi extends WorkerApi {
  bridgeKey: string;
}

const HOST = 'PODYARD-HOST-';
const EGRESS = 'PODYARD-EGRESS-';
/** Chains' names have at most 28 characters. */
const MAX_KEY_LENGTH = 12;
const API_COMMENT = 'podyard-api-';

const ANSWERS = '-m conntrack --ctstate RELATED,ESTABLISHED -j RETURN';
const DNS = ['-p udp -m udp --dport 53 -j RETURN', '-p tcp -m tcp --dport 53 -j RETURN'];
/** All interfaces whose name begins so. */
const GROUP_BRIDGES = `${GROUP_BRIDGE_PREFIX}+`;
/** Ports that the machine publishes for others' containers or services. */
const PUBLISHED = '-m conntrack --ctstate DNAT';
const REJECT: Record<Family, string> = {
  4: '-j REJECT --reject-with icmp-port-unreachable',
  6: '-j REJECT --reject-with icmp6-port-unreachable',
};
/**
 * The kernel sends a container one ICMP message a second, so most of a worker's attempts to connect to a server that is away would
 * wait, and those that wait while the container moves to another network are lost for two minutes. A reset comes at once.
 */
const RESET = '-p tcp -j REJECT --reject-with tcp-reset';
/** Networks that are not the internet: IANA's special-purpose registries. */
export const PRIVATE_NETWORKS: Record<Family, readonly string[]> = {
  4: [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '224.0.0.0/3',
  ],
  6: ['fc00::/7', 'fec0::/10', 'ff00::/8', '64:ff9b:1::/48'],
};

/** Returns the lines for `iptables-restore --noflush` that put the rules in place; none where they are. */
export function planRules(
  family: Family,
  current: readonly string[],
  bridge: LimitedBridge,
  api: WorkerApi | null,
): string[] {
  const [host, egress] = chainsOf(bridge.name);
  const wanted = rulesOf(family, bridge);
  const forward = forwardHook(current, bridge);
  return [
    ...planChain(current, host, wanted.host, family === 4 ? api : null),
    ...planChain(current, egress, wanted.egress, null),
    ...planHook(current, 'INPUT', bridge.name, host),
    ...(bridge.engine.isolatesNeighbors ? [] : planGroups(family, current, bridge)),
    ...planHook(current, forward, bridge.name, egress),
    ...(forward === 'FORWARD' ? [] : planUnhook(current, 'FORWARD', egress)),
  ];
}

/**
 * Returns the lines that remove a bridge's chains and what refers to them. They fail, all together, if a server has added a
 * rule since `current` was read.
 */
export function planRemoval(current: readonly string[], bridgeKey: string): string[] {
  const chains = [HOST + bridgeKey, EGRESS + bridgeKey].filter((chain) => current.includes(`-N ${chain}`));
  const rules = current.filter((line) =>
    chains.some((chain) => line.endsWith(` -j ${chain}`) || line.startsWith(`-A ${chain} `)),
  );
  return [...rules.map(deletion), ...chains.map((chain) => `-X ${chain}`)];
}

/** Returns the lines that close the worker APIs that are gone. */
export function planClosing(current: readonly string[], isGone: (api: OpenApi) => boolean): string[] {
  const isClosed = (line: string) => {
    const api = parseApi(line);
    return api !== null && isGone(api);
  };
  return current.filter(isClosed).map(deletion);
}

/** Returns the worker APIs that rules of any bridge open. */
export function listApis(current: readonly string[]): OpenApi[] {
  return current.flatMap((line) => parseApi(line) ?? []);
}

/** Returns the keys of all bridges that have chains. */
export function listBridgeKeys(current: readonly string[]): string[] {
  const names = current.flatMap((line) => /^-N PODYARD-(?:HOST|EGRESS)-(\S+)$/.exec(line)?.[1] ?? []);
  return [...new Set(names)];
}

/** Returns what names a bridge's chains: Docker calls bridges `br-<12 digits>`. */
export function bridgeKeyOf(bridge: string): string {
  const key = bridge.replace(/^br-/, '');
  return key.length <= MAX_KEY_LENGTH && /^[\w-]+$/.test(key) ? key : digestOf(bridge);
}

function chainsOf(bridge: string): [host: string, egress: string] {
  const key = bridgeKeyOf(bridge);
  return [HOST + key, EGRESS + key];
}

/** The last rule of each chain carries a digest of all, by which a changed chain is noticed. */
function rulesOf(family: Family, bridge: LimitedBridge): { host: string[]; egress: string[] } {
  const { mode, allow } = bridge.settings;
  const allowed = allow
    .filter((entry) => entry.family === family)
    .map(({ network, port }) => `-d ${network}${port === null ? '' : ` -p tcp -m tcp --dport ${port}`} -j RETURN`);
  const reject = (network: string) => `-d ${network} ${REJECT[family]}`;
  const neighbours = family === 6 ? ['-p ipv6-icmp -j RETURN'] : [];
  const isolation = bridge.engine.isolatesNeighbors ? [] : [`-o ${bridge.name} ${REJECT[family]}`];
  if (mode === 'all') return marked([ANSWERS], [ANSWERS, ...isolation], '-j RETURN');
  const host = [ANSWERS, ...neighbours, ...DNS, ...allowed, RESET];
  const egress = [
    ANSWERS,
    ...isolation,
    ...DNS,
    ...MACHINE_SERVICES[family].map(reject),
    ...allowed,
    `${PUBLISHED} ${REJECT[family]}`,
    ...(mode === 'internet' ? PRIVATE_NETWORKS[family].map(reject) : []),
  ];
  return marked(host, egress, REJECT[family]);
}

function marked(host: string[], egress: string[], lastOfHost: string): { host: string[]; egress: string[] } {
  const mark = `-m comment --comment podyard-${digestOf(JSON.stringify([host, egress]))}`;
  return { host: [...host, `${mark} ${lastOfHost}`], egress: [...egress, `${mark} -j RETURN`] };
}

function planChain(current: readonly string[], chain: string, wanted: readonly string[], api: WorkerApi | null) {
  const rules = current.filter((line) => line.startsWith(`-A ${chain} `));
  const opened = rules.filter((line) => parseApi(line) !== null);
  const others = opened.filter((line) => parseApi(line)?.installation !== api?.installation);
  const own = opened.filter((line) => parseApi(line)?.installation === api?.installation);
  const rest = rules.slice(opened.length);
  const mark = /--comment \S+/.exec(wanted.at(-1)!)![0];
  const isIntact = rest.length === wanted.length && rest.every((line) => parseApi(line) === null);
  const isMarked = unquote(rest.at(-1) ?? '').includes(mark);
  const opening = api === null ? [] : [openingOf(api)];
  // Two servers may create a chain at once: -N fails for the later one, which then finds the chain and adds its own rule.
  if (!current.includes(`-N ${chain}`)) {
    return [`-N ${chain}`, ...[...opening, ...wanted].map((rule) => `-A ${chain} ${rule}`)];
  }
  if (!isIntact || !isMarked) {
    return [`-F ${chain}`, ...others, ...[...opening, ...wanted].map((rule) => `-A ${chain} ${rule}`)];
  }
  const isOpen = own.length === 1 && isSame(parseApi(own[0]!)!, api!);
  if (api === null || isOpen) return [];
  return [...own.map(deletion), ...opening.map((rule) => `-I ${chain} 1 ${rule}`)];
}

/** In FORWARD, ours must come before the engine's own rules, which accept what containers send. */
function planHook(current: readonly string[], parent: string, bridge: string, chain: string): string[] {
  const rules = current.filter((line) => line.startsWith(`-A ${parent} `));
  const hook = `-i ${bridge} -j ${chain}`;
  const present = rules.filter((line) => line === `-A ${parent} ${hook}`);
  const isFirst = rules.slice(0, rules.indexOf(present[0]!)).every((line) => line.includes(` -j ${EGRESS}`));
  if (present.length === 1 && (parent !== 'FORWARD' || isFirst)) return [];
  return [...present.map(deletion), `-I ${parent} 1 ${hook}`];
}

/**
 * Networks of groups are between their containers. Where the engine gives the machine an address on them, it is closed; where a Docker
 * beside it drops by default, traffic within their bridges is accepted. Only then is `physdev` used: it makes the kernel filter all
 * bridges.
 */
function planGroups(family: Family, current: readonly string[], { filtersBridges }: LimitedBridge): string[] {
  const wanted = [
    `INPUT -i ${GROUP_BRIDGES} ${REJECT[family]}`,
    ...(family === 4 && filtersBridges
      ? [`FORWARD -i ${GROUP_BRIDGES} -m physdev --physdev-is-bridged -j ACCEPT`]
      : []),
  ];
  return wanted
    .filter((rule) => !current.some((line) => line.replaceAll(/ +/g, ' ') === `-A ${rule}`))
    .map((rule) => `-I ${rule.replace(' ', ' 1 ')}`);
}

/** Returns the lines that remove the rules for the networks of groups. */
export function planUnhookGroups(current: readonly string[]): string[] {
  return current
    .filter((line) =>
      [`-A INPUT -i ${GROUP_BRIDGES} `, `-A FORWARD -i ${GROUP_BRIDGES} `].some((begin) => line.startsWith(begin)),
    )
    .map(deletion);
}

function planUnhook(current: readonly string[], parent: string, chain: string): string[] {
  return current.filter((line) => line.startsWith(`-A ${parent} `) && line.endsWith(` -j ${chain}`)).map(deletion);
}

/** DOCKER-USER is Docker's place for others' rules, unless it uses nftables itself. Beside it, Podman accepts before that. */
function forwardHook(current: readonly string[], { engine }: LimitedBridge): 'DOCKER-USER' | 'FORWARD' {
  return engine.callsUserChain && current.includes('-A FORWARD -j DOCKER-USER') ? 'DOCKER-USER' : 'FORWARD';
}

function openingOf({ installation, host, port }: WorkerApi): string {
  const comment = `-m comment --comment ${API_COMMENT}${installation}`;
  return `-d ${host}/32 -p tcp -m tcp --dport ${port} ${comment} -j ACCEPT`;
}

function parseApi(line: string): OpenApi | null {
  if (!line.startsWith(`-A ${HOST}`)) return null;
  const [, bridgeKey] = line.slice(0, line.indexOf(' -', 3)).split(HOST);
  const host = optionOf(line, '-d')?.replace(/\/32$/, '');
  const port = optionOf(line, '--dport');
  const comment = optionOf(line, '--comment');
  if (!comment?.startsWith(API_COMMENT) || host === undefined || port === undefined) return null;
  return { bridgeKey: bridgeKey!, host, port: Number(port), installation: comment.slice(API_COMMENT.length) };
}

function optionOf(line: string, name: string): string | undefined {
  const words = unquote(line).split(' ');
  const at = words.indexOf(name);
  return at === -1 ? undefined : words[at + 1];
}

function isSame(one: WorkerApi, other: WorkerApi): boolean {
  return one.host === other.host && one.port === other.port;
}

function deletion(line: string): string {
  return line.replace(/^-A /, '-D ');
}

/** Versions of iptables differ in which comments they quote. */
function unquote(line: string): string {
  return line.replaceAll('"', '');
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, MAX_KEY_LENGTH);
}
