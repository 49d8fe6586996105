/**
 * The JSON text `{"<name>":[…]}` of a list that may be long. Others get their turn between two pages. All of it is made
 * before the first byte leaves, so that a failure on the way is still a problem record and no half of an answer.
 */
export async function renderList<T>(
  name: string,
  pages: AsyncIterable<readonly T[]>,
  render: (item: T) => string,
): Promise<Buffer> {
  const parts: Buffer[] = [Buffer.from(`{${JSON.stringify(name)}:[`)];
  let separator = '';
  for await (const page of pages) {
    if (page.length === 0) continue;
    parts.push(Buffer.from(separator + page.map(render).join()));
    separator = ',';
  }
  parts.push(Buffer.from(']}'));
  return Buffer.concat(parts);
}
