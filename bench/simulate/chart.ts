import type { Sample, TenantResult } from './endpoint.ts';
import type { Scenario } from './scenarios.ts';

const WIDTH = 1_000;
const PANEL = 180;
const MARGIN = { left: 70, right: 20, top: 60, gap: 50 };
const INNER = WIDTH - MARGIN.left - MARGIN.right;
/** Distinguishable with color blindness. */
const COLORS = ['#0072b2', '#d55e00', '#009e73'];

interface Line {
  name: string;
  color: string;
  dash?: string;
  values: number[];
}

/** Draws demand, workers and waits over time, stacked, as an SVG document. */
export function drawChart(
  scenario: Pick<Scenario, 'name' | 'about' | 'durationMs'>,
  results: readonly TenantResult[],
): string {
  const lines = (kinds: { name: string; dash?: string; value: (sample: Sample) => number }[]): Line[] =>
    results.flatMap((result, i) =>
      kinds.map(({ name, dash, value }) => ({
        name: results.length > 1 ? `${result.name}: ${name}` : name,
        color: COLORS[i % COLORS.length]!,
        ...(dash && { dash }),
        values: result.samples.map(value),
      })),
    );
  const hasFrozen = results.some(({ freezes }) => freezes > 0);
  const panels = [
    drawPanel(
      0,
      'Jobs',
      lines([
        { name: 'waiting', value: ({ queued }) => queued },
        { name: 'running', dash: '4 3', value: ({ inProgress }) => inProgress },
      ]),
    ),
    drawPanel(
      1,
      'Workers',
      lines([
        { name: 'ready', value: ({ ready }) => ready },
        { name: 'starting', dash: '4 3', value: ({ starting }) => starting },
        ...(hasFrozen ? [{ name: 'frozen', dash: '1 3', value: ({ frozen }: Sample) => frozen }] : []),
      ]),
    ),
    drawPanel(2, 'Longest wait, s', lines([{ name: 'wait', value: ({ waitMs }) => waitMs / 1_000 }])),
  ];
  const height = MARGIN.top + 3 * (PANEL + MARGIN.gap) + 20;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">
<title>${escapeXml(scenario.about)}</title>
<style>@media (prefers-color-scheme: dark) { rect { fill: #14181d } text { fill: #dfe3e8 } line[stroke="#ddd"] { stroke: #323b45 } }</style>
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
<text x="${MARGIN.left}" y="24" font-size="16" font-weight="bold">${escapeXml(scenario.name)}</text>
<text x="${MARGIN.left}" y="42">${escapeXml(scenario.about)}</text>
${panels.join('\n')}
${drawHours(scenario.durationMs, height - 12)}
</svg>
`;
}

function drawPanel(index: number, title: string, lines: readonly Line[]): string {
  const top = MARGIN.top + 20 + index * (PANEL + MARGIN.gap);
  const most = niceCeiling(Math.max(1, ...lines.flatMap(({ values }) => values)));
  const x = (i: number, count: number) => (MARGIN.left + (INNER * i) / Math.max(1, count - 1)).toFixed(1);
  const y = (value: number) => (top + PANEL * (1 - value / most)).toFixed(1);
  const grid = [0, 0.5, 1].map(
    (share) =>
      `<line x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${y(most * share)}" y2="${y(most * share)}" stroke="#ddd"/>` +
      `<text x="${MARGIN.left - 8}" y="${y(most * share)}" text-anchor="end" dominant-baseline="middle">${most * share}</text>`,
  );
  const drawn = lines.map(({ color, dash, values }) => {
    const points = values.map((value, i) => `${x(i, values.length)},${y(value)}`).join(' ');
    return `<polyline points="${points}" fill="none" stroke="${color}" stroke-width="1.5"${dash ? ` stroke-dasharray="${dash}"` : ''}/>`;
  });
  const legend = lines.map(({ name, color, dash }, i) => {
    const left = MARGIN.left + 140 + i * 150;
    return (
      `<line x1="${left}" x2="${left + 24}" y1="${top - 10}" y2="${top - 10}" stroke="${color}" stroke-width="2"${dash ? ` stroke-dasharray="${dash}"` : ''}/>` +
      `<text x="${left + 30}" y="${top - 6}">${escapeXml(name)}</text>`
    );
  });
  return [
    `<text x="${MARGIN.left}" y="${top - 6}" font-weight="bold">${title}</text>`,
    ...grid,
    ...drawn,
    ...legend,
  ].join('\n');
}

function drawHours(durationMs: number, y: number): string {
  const labels = Array.from({ length: 9 }, (_, i) => {
    const minutes = Math.round((durationMs * i) / 8 / 60_000);
    const text = `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`;
    return `<text x="${MARGIN.left + (INNER * i) / 8}" y="${y}" text-anchor="middle">${text}</text>`;
  });
  return labels.join('\n');
}

/** 1, 2 or 5 times a power of ten. */
function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value)!;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
