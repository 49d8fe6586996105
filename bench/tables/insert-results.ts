/** The output of a benchmark, and its subject. */
export interface Results {
  /** Year, month and day. */
  date: string;
  commit: string;
  command: string;
  output: string;
}

const END = '<!-- end -->';

/** Returns the block's text: where the figures come from, and the tables as they were printed. */
export function renderResults({ date, commit, command, output }: Results): string {
  const tables = output
    .split('\n')
    .filter((line) => !line.startsWith('.cache/bench/')) // the file with every measurement
    .join('\n')
    .replace(/^\n+|\s+$/g, ''); // not trim(): a table may begin with an empty heading
  return `${date}, commit ${commit}, \`${command}\`:\n\n\`\`\`\n${tables}\n\`\`\``;
}

/** Returns the page with another text between the markers of a block. Throws if the page has no such block. */
export function insertResults(page: string, name: string, text: string): string {
  const begin = `<!-- results: ${name} -->`;
  const from = page.indexOf(begin);
  const to = page.indexOf(END, from);
  if (from < 0 || to < 0) throw new Error(`the page has no block between \`${begin}\` and \`${END}\``);
  return `${page.slice(0, from)}${begin}\n\n${text}\n\n${page.slice(to)}`;
}
