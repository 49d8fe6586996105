/** A fenced block of a documentation page. */
export interface Block {
  line: number;
  /** Its info string: `sh run`, `js file=worker.js`, `text output`. */
  info: string;
  text: string;
}

/** Returns the fenced blocks of a page, in order. Throws for an unclosed one. */
export function readBlocks(markdown: string): Block[] {
  const blocks: Block[] = [];
  let open: Block | undefined;
  for (const [i, line] of markdown.split('\n').entries()) {
    if (!line.startsWith('```')) {
      if (open) open.text += `${line}\n`;
    } else if (open) {
      blocks.push(open);
      open = undefined;
    } else open = { line: i + 1, info: line.slice(3).trim(), text: '' };
  }
  if (open) throw new Error(`the block at line ${open.line} has no end`);
  return blocks;
}

const MARK = '=== end of block';

/**
 * Returns one script for a page. It writes the files where they are shown and runs the commands in order in one shell, so that
 * variables persist. It stops at the first command that fails, after printing the line of its block. A block `json images` goes
 * into the file that PAGE_IMAGES names, which the server reads, with the folder that the shell is in for the reader's.
 */
export function scriptOf(blocks: readonly Block[]): string {
  const parts = blocks.flatMap(({ info, line, text }) => {
    const file = /\bfile=(\S+)/.exec(info)?.[1];
    if (file) return [`base64 -d > '${file}' <<< ${Buffer.from(text).toString('base64')}`];
    if (info === 'json images') return [`sed "s|/home/me/[a-z-]*|$PWD|" > "$PAGE_IMAGES" << 'END'`, `${text}END`];
    return info === 'sh run' ? [`echo '=== line ${line}' >&2`, text, `echo; echo '${MARK} ${line}'`] : [];
  });
  return ['set -euo pipefail', ...parts].join('\n');
}

/**
 * Returns the output lines on the page that its commands did not print; `…` matches anything. An output belongs to the nearest
 * commands before it.
 */
export function missingOutput(blocks: readonly Block[], stdout: string): string[] {
  const printed = new Map<number, string>();
  let from = 0;
  for (const match of stdout.matchAll(new RegExp(`^${MARK} (\\d+)$`, 'gm'))) {
    printed.set(Number(match[1]), stdout.slice(from, match.index));
    from = match.index + match[0].length;
  }
  return blocks.flatMap(({ info, line, text }, i) => {
    if (!/\boutput$/.test(info)) return [];
    const source = blocks.slice(0, i).findLast((block) => block.info === 'sh run');
    const given = printed.get(source?.line ?? -1) ?? '';
    const missing = text.split('\n').filter((wanted) => !patternOf(wanted).test(given));
    return missing.map((wanted) => `line ${line}: '${wanted}' is not in\n${given}`);
  });
}

function patternOf(line: string): RegExp {
  const escaped = line.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(escaped.replaceAll('…', '.*').replace(/ +/g, '\\s+'), 'm');
}
