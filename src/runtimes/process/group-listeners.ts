/**
 * Which ports a process group listens on. Workloads share this machine's network with everything else on it, so an open
 * port alone proves nothing: the proxy may only connect to a socket that a process of the workload holds.
 */
import { readdirSync, readlinkSync } from 'node:fs';
import { endianness, networkInterfaces } from 'node:os';
import { BoundedMap } from '../../core/bounded-map.ts';
import { type GroupId, membersOf, readText } from './process-group.ts';

/** A listening socket: the address to connect to, and its inode. */
interface Listener {
  host: string;
  inode: string;
}

const LISTENING = '0A';
const MAX_REMEMBERED = 1_000;

/** Finds the listening sockets of process groups. Remembers where each was: checking one link again takes microseconds. */
export class GroupListeners {
  readonly #known = new BoundedMap<string, { link: string; host: string; inode: string }>(MAX_REMEMBERED);

  /** Returns null when no process of the group listens on the port. Linux only: elsewhere it cannot be proven. */
  find(group: GroupId, port: number): { host: string; port: number } | null {
    const key = `${group.pid} ${group.startedAt} ${port}`;
    const known = this.#known.get(key);
    if (known && readLink(known.link) === `socket:[${known.inode}]`) return { host: known.host, port };
    this.#known.delete(key);
    const found = search(group, port);
    if (!found) return null;
    this.#known.set(key, found);
    return { host: found.host, port };
  }
}

function search(group: GroupId, port: number): { link: string; host: string; inode: string } | undefined {
  const listeners = [
    ...parseListeners(readText('/proc/net/tcp'), port),
    ...parseListeners(readText('/proc/net/tcp6'), port),
  ];
  if (listeners.length === 0) return undefined;
  const links = new Map(membersOf(group).flatMap((pid) => socketsOf(pid)));
  const own = listeners.filter(({ inode }) => links.has(inode));
  // A foreign socket on the very same address may receive the connection.
  const isFree = ({ host }: Listener) => !listeners.some((other) => other.host === host && !links.has(other.inode));
  const chosen = own.find(isFree);
  return chosen && { link: links.get(chosen.inode)!, ...chosen };
}

/** Parses the listening sockets of a port from the text of /proc/net/tcp or tcp6. A wildcard address becomes loopback. */
export function parseListeners(text: string, port: number): Listener[] {
  return text
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => state === LISTENING && Number.parseInt(local!.split(':')[1]!, 16) === port)
    .map((fields) => ({ host: hostOf(fields[1]!.split(':')[0]!), inode: fields[9]! }));
}

/** The kernel prints addresses as 32-bit words in the byte order of the machine. */
function hostOf(hex: string): string {
  const bytes = Buffer.from(hex, 'hex');
  if (endianness() === 'LE') bytes.swap32();
  const isWildcard = bytes.every((byte) => byte === 0);
  if (bytes.length === 4) return isWildcard ? '127.0.0.1' : bytes.join('.');
  if (isWildcard) return wildcard6();
  const isMapped = bytes.subarray(0, 12).equals(Buffer.from('00000000000000000000ffff', 'hex'));
  if (isMapped) return bytes.subarray(12).join('.');
  return Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(i * 2).toString(16)).join(':');
}

/** A socket on `::` also accepts IPv4 unless IPV6_V6ONLY is set, which /proc does not show: use 127.0.0.1 only without ::1. */
function wildcard6(): string {
  const hasLoopback = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));
  return hasLoopback ? '::1' : '127.0.0.1';
}

/** The sockets that a process holds, as inode and the link in /proc that proves it. */
function socketsOf(pid: number): [inode: string, link: string][] {
  const folder = `/proc/${pid}/fd`;
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    const link = `${folder}/${name}`;
    const inode = /^socket:\[(\d+)\]$/.exec(readLink(link) ?? '')?.[1];
    return inode === undefined ? [] : [[inode, link] as [string, string]];
  });
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
