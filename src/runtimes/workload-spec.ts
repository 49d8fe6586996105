import { createHash } from 'node:crypto';
import { Failure } from '../core/errors.ts';
import type { PublishedPort } from './runtime.ts';

/** Replaces an image's own entrypoint and command; null keeps the image's. */
export interface Command {
  entrypoint: string[] | null;
  cmd: string[] | null;
}

/**
 * Parses `args` of a container block (docs/interface/rest.md, "Container settings"): `""`, a shell-like string (words of
 * the command), or JSON `{"entrypoint":[…],"cmd":[…]}`. Throws `badRequest` for an unclosed quote.
 */
export function parseArgs(args: string): Command {
  const json = parseJsonForm(args);
  if (json) return json;
  const words = splitWords(args);
  return { entrypoint: null, cmd: words.length === 0 ? null : words };
}

function parseJsonForm(args: string): Command | undefined {
  if (!args.trimStart().startsWith('{')) return undefined;
  let value: { entrypoint?: unknown; cmd?: unknown };
  try {
    value = JSON.parse(args);
  } catch {
    return undefined; // not JSON: a word that starts with a brace
  }
  const { entrypoint, cmd } = value;
  const isWords = (list: unknown): list is string[] =>
    Array.isArray(list) && list.every((word) => typeof word === 'string');
  if (!isWords(entrypoint ?? []) || !isWords(cmd ?? [])) {
    throw new Failure('badRequest', "args: 'entrypoint' and 'cmd' must be arrays of strings");
  }
  return { entrypoint: (entrypoint as string[] | undefined) ?? null, cmd: (cmd as string[] | undefined) ?? null };
}

/** One token: an escaped character, a quoted piece, blanks, or a run of anything else. */
const PIECE = /\\(.)|'([^']*)'|"((?:\\.|[^"\\])*)"|(\s+)|([^\s\\'"]+)|['"\\]/gs;

/** Splits like a POSIX shell: quotes and backslashes count, nothing is expanded. */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (const [, escaped, single, double, blank, plain] of text.matchAll(PIECE)) {
    const piece = escaped ?? single ?? double?.replace(/\\([$`"\\])/g, '$1') ?? plain;
    if (piece !== undefined) word = (word ?? '') + (escaped === '\n' ? '' : piece);
    else if (blank === undefined) throw new Failure('badRequest', `args: unclosed quote in '${text}'`);
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  if (word !== undefined) words.push(word);
  return words;
}

/** Parses a `<port>/<protocol>` item, which was validated on input. */
export function parsePort(item: string): Pick<PublishedPort, 'private' | 'type'> {
  const [port, protocol] = item.split('/');
  return { private: Number(port), type: protocol === 'tcp' ? 'tcp' : 'http' };
}

/**
 * Returns what names a workload where its neighbors can read it: container names, host names and names in the cluster's DNS.
 * It does not reveal the id, which opens a pod's ports at the proxy. Stable, and nothing to store.
 */
export function opaqueName(installation: string, id: string): string {
  return createHash('sha256').update(`${installation}/${id}`).digest('hex').slice(0, 16);
}

/**
 * Added to the score by which the kernel chooses what to kill when the machine runs out of memory: workloads go before
 * everything else (oom_score_adj in proc(5), from -1000 to 1000).
 */
export const WORKLOAD_OOM_SCORE = 500;
