/**
 * Renders a long list as the JSON `{"<name>":[…]}`, yielding to other requests between pages. Nothing is sent until all of
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
    if (page.length === 0) continue;
    parts.push(Buffer.from(separator + page.map(render).join()));
    separator = ',';
  }
  const members = Object.entries(more).map(([key, value]) => `,${JSON.stringify(key)}:${JSON.stringify(value)}`);
  parts.push(Buffer.from(`]${members.join('')}}`));
  return Buffer.concat(parts);
}
