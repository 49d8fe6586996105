import type { Section } from './pages.ts';
import { isStopWord, type SearchIndex, stemsOf } from './search.ts';

/** How much a word in a heading counts beside one in the text. */
const IN_HEADING = 6;
const IN_TITLE = 3;
/** Further words of a section count less and less; long sections a little less than short ones. */
const SATURATION = 2;
const BY_LENGTH = 0.4;
/** A page that is one long section is not punished further than one this many times as long as usual. */
const LONGEST = 2.5;
const LEAD_LENGTH = 100;

/** Returns the index that pages search in: BM25, worked out for every word of every section. */
export function searchIndexOf(sections: readonly Section[]): SearchIndex {
  const counted = sections.map(countsOf);
  const usualLength = counted.reduce((sum, { length }) => sum + length, 0) / counted.length;
  const sectionsWith = new Map<string, number>();
  for (const { counts } of counted) {
    for (const stem of counts.keys()) sectionsWith.set(stem, (sectionsWith.get(stem) ?? 0) + 1);
  }
  const stems: Record<string, number[]> = {};
  const lastOf = new Map<string, number>();
  counted.forEach(({ counts, length }, position) => {
    const saturation = SATURATION * (1 - BY_LENGTH + BY_LENGTH * Math.min(length / usualLength, LONGEST));
    for (const [stem, count] of counts) {
      const rarity = Math.log(1 + sections.length / sectionsWith.get(stem)!);
      const weight = Math.round(10 * rarity * (count / (count + saturation)) * sections[position]!.worth);
      if (weight === 0) continue;
      stems[stem] ??= [];
      stems[stem].push(position - (lastOf.get(stem) ?? 0), weight);
      lastOf.set(stem, position);
    }
  });
  return {
    sections: sections.map(({ href, page, heading, prose }) => ({ href, page, heading, lead: leadOf(prose) })),
    stems,
  };
}

function countsOf({ page, heading, text, alsoCalled }: Section): { counts: Map<string, number>; length: number } {
  const counts = new Map<string, number>();
  const add = (words: string, worth: number) => {
    const stems = stemsOf(words).filter((stem) => !isStopWord(stem));
    for (const stem of stems) counts.set(stem, (counts.get(stem) ?? 0) + worth);
    return stems.length;
  };
  const length = add(text, 1);
  add(heading || page, IN_HEADING);
  if (heading) add(page, IN_TITLE);
  add(alsoCalled, IN_HEADING);
  return { counts, length };
}

function leadOf(text: string): string {
  const lead = text.replaceAll(/\s+/g, ' ').trim();
  if (lead.length <= LEAD_LENGTH) return lead;
  return `${lead.slice(0, lead.lastIndexOf(' ', LEAD_LENGTH)).replace(/[,;:.(]+$/, '')} …`;
}
