import { takeTurn } from '../core/flow/turns.ts';

/** Returns the JSON of an answer; yields to other requests between the items of its lists. */
export async function renderInTurns(answer: object, owner: string): Promise<string> {
  const parts: string[] = [];
  await render(answer, owner, parts);
  return parts.join('');
}

async function render(value: unknown, owner: string, parts: string[]): Promise<void> {
  if (typeof value !== 'object' || value === null) parts.push(JSON.stringify(value));
  else if (Array.isArray(value)) await renderList(value, owner, parts);
  else {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    parts.push('{');
    for (const [i, [name, member]] of members.entries()) {
      parts.push(`${i === 0 ? '' : ','}${JSON.stringify(name)}:`);
      await render(member, owner, parts);
    }
    parts.push('}');
  }
}

async function renderList(items: readonly unknown[], owner: string, parts: string[]): Promise<void> {
  parts.push('[');
  for (const [i, item] of items.entries()) {
    const turn = takeTurn(owner);
    if (turn) await turn;
    if (i > 0) parts.push(',');
    parts.push(JSON.stringify(item));
  }
  parts.push(']');
}
