import { setImmediate as nextTurn } from 'node:timers/promises';

/** Items that are rendered at once: less than a millisecond. */
const PIECE = 50;

/**
 * Renders a long list as the JSON `{"<name>":[…]}`, yielding to other requests between pieces. Nothing is sent until all of
 * it is rendered, so that a failure still becomes an error response. `more`: further members of the object.
 */
export async function renderList<T>(
  name: string,
  pages: AsyncIterable<readonly T[]>,
  render: (item: T) => string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Buffer> {
  const parts: Buffer[] = [Buffer.from(`{${JSON.stringify(name)}:[`)];
  let separator = '';
  for await (const page of pages) {
    for (let at = 0; at < page.length; at += PIECE) {
      let text = '';
      for (const item of page.slice(at, at + PIECE)) {
        text += separator + render(item);
        separator = ',';
      }
      parts.push(Buffer.from(text));
      await nextTurn();
    }
  }
  const members = Object.entries(more).map(([key, value]) => `,${JSON.stringify(key)}:${JSON.stringify(value)}`);
  parts.push(Buffer.from(`]${members.join('')}}`));
  return Buffer.concat(parts);
}
