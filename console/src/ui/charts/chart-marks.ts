/** Something that happened at a time of a chart: a line in it if it stands out, and in any case words in its tooltip. */
export interface ChartMark {
  /** The time of the point that it belongs to, in ms. */
  at: number;
  text: string;
  line?: { label: string; isBad: boolean };
}

/** Returns the words of the marks at a time, at most so many. */
export function textsAt(marks: readonly ChartMark[], at: number, most = 5): string[] {
  const texts = marks.filter((mark) => mark.at === at).map(({ text }) => text);
  return texts.length <= most ? texts : [...texts.slice(0, most), `and ${texts.length - most} more`];
}
