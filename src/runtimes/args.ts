import { Failure } from '../core/errors.ts';

/** What replaces an image's own entrypoint and command; null keeps the image's. */
export interface Command {
  entrypoint: string[] | null;
  cmd: string[] | null;
}

/**
 * Reads `args` of a container block (docs/interface/rest.md, "Container settings"): `""`, a shell-like string (words
 * of the command), or JSON text `{"entrypoint":[…],"cmd":[…]}`. Throws `badRequest` when a quote is left open.
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
    return undefined; // a brace is a word like any other
  }
  const { entrypoint, cmd } = value;
  const isWords = (list: unknown): list is string[] =>
    Array.isArray(list) && list.every((word) => typeof word === 'string');
  if (!isWords(entrypoint ?? []) || !isWords(cmd ?? [])) {
    throw new Failure('badRequest', "args: 'entrypoint' and 'cmd' must be arrays of strings");
  }
  return { entrypoint: (entrypoint as string[] | undefined) ?? null, cmd: (cmd as string[] | undefined) ?? null };
}

/** One step of reading: an escaped character, a quoted piece, blanks, or anything else up to the next of those. */
const PIECE = /\\(.)|'([^']*)'|"((?:\\.|[^"\\])*)"|(\s+)|([^\s\\'"]+)|['"\\]/gs;

/** Splits as a POSIX shell splits words: quotes and backslashes count, nothing is expanded. */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (const [, escaped, single, double, blank, plain] of text.matchAll(PIECE)) {
    const piece = escaped ?? single ?? double?.replace(/\\([$`"\\])/g, '$1') ?? plain;
    if (piece !== undefined) word = (word ?? '') + (escaped === '\n' ? '' : piece);
    else if (blank === undefined) throw new Failure('badRequest', `args: a quote is left open in '${text}'`);
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  if (word !== undefined) words.push(word);
  return words;
}
