/** Reads a list to its end, from as many pages as there are. */
export async function readPages<Page extends { next: string | null }, Item>(
  read: (query: { after?: string }) => Promise<Page>,
  itemsIn: (page: Page) => readonly Item[],
): Promise<Item[]> {
  const items: Item[] = [];
  let after: string | null = null;
  do {
    const page: Page = await read(after === null ? {} : { after });
    items.push(...itemsIn(page));
    after = page.next;
  } while (after !== null);
  return items;
}
