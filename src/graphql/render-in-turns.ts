import { takeTurn } from '../core/flow/turns.ts';

/** Returns the JSON of an answer; yields to other requests between the items of its lists. Stops early, with a part of it, once the client is gone. */
export async function renderInTurns(answer: object, owner: string, isAbandoned: () => boolean): Promise<string> {
  const parts: string[] = [];
  await render(answer, { owner, isAbandoned }, parts);
  return parts.join('');
}

interface Reader {
  owner: string;
  isAbandoned: () => boolean;
}

async function render(value: unknown, reader: Reader, parts: string[]): Promise<void> {
  if (typeof value !== 'object' || value === null) parts.push(JSON.stringify(value));
  else if (Array.isArray(value)) await renderList(value, reader, parts);
  else {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    parts.push('{');
    for (const [i, [name, member]] of members.entries()) {
      parts.push(`${i === 0 ? '' : ','}${JSON.stringify(name)}:`);
      await render(member, reader, parts);
    }
    parts.push('}');
  }
}

async function renderList(items: readonly unknown[], { owner, isAbandoned }: Reader, parts: string[]): Promise<void> {
  parts.push('[');
  for (const [i, item] of items.entries()) {
    const turn = takeTurn(owner);
    if (turn) await turn;
    if (isAbandoned()) return;
    if (i > 0) parts.push(',');
    parts.push(JSON.stringify(item));
  }
  parts.push(']');
}
