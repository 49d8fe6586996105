import { useComputedColorScheme } from '@mantine/core';
import type { ReactElement } from 'react';
import {
  Area,
  AreaChart,
  Bar,
  BarChart,
  CartesianGrid,
  Legend,
  ReferenceLine,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from 'recharts';
import { formatNumber, formatUsd } from '../text/format.ts';
import { Name } from '../text/record-name.tsx';
import { visibleText } from '../text/visible-text.ts';
import { CHART_COLORS, CHART_FRAME, type ChartMark, type Series, textsAt } from './series.ts';

type Point = { at: number } & Record<string, number | undefined>;

function useColors() {
  const scheme = useComputedColorScheme('light');
  return {
    ...CHART_FRAME[scheme],
    bad: CHART_COLORS.red[scheme],
    colorOf: (series: Series) => CHART_COLORS[series.color][scheme],
  };
}

/** From this many samples on, dots would hide the lines. */
const MAX_DOTS = 300;

/** Over a longer time the axis shows minutes. */
const SECONDS_UP_TO_MS = 20 * 60_000;

/** Values over time: counts as stacked areas, or measurements as lines with a dot for each sample. */
export function TimeChart(props: {
  label: string;
  points: readonly Point[];
  series: readonly Series[];
  areMeasurements?: boolean;
  /** Over days: the axis shows dates. */
  isLong?: boolean;
  /** The values are not whole numbers. */
  hasFractions?: boolean;
  marks?: readonly ChartMark[];
}) {
  const formatTime = props.isLong ? dateOf : spanOf(props.points) < SECONDS_UP_TO_MS ? timeOf : minuteOf;
  // Counts have no stroke: an area of height 0 would draw its line over those below it.
  const form = props.areMeasurements
    ? ({
        type: 'linear',
        fillOpacity: 0,
        connectNulls: true,
        dot: props.points.length <= MAX_DOTS && { r: 2 },
      } as const)
    : ({ type: 'stepAfter', fillOpacity: 0.6, strokeWidth: 0, stackId: 'one', dot: Dot } as const);
  const { grid, text, bad, colorOf } = useColors();
  const { marks = [] } = props;
  return (
    <ChartFrame label={props.label}>
      <AreaChart data={[...props.points]} margin={{ top: 6, right: 24, bottom: 0, left: props.hasFractions ? 0 : -18 }}>
        <CartesianGrid stroke={grid} vertical={false} />
        <XAxis
          dataKey="at"
          type="number"
          domain={['dataMin', 'dataMax']}
          tickFormatter={formatTime}
          stroke={text}
          fontSize={11}
          minTickGap={60}
        />
        <YAxis allowDecimals={props.hasFractions ?? false} stroke={text} fontSize={11} />
        <Tooltip
          content={({ payload, label }) => (
            <Values
              title={formatTime(label)}
              texts={textsAt(marks, Number(label))}
              series={props.series}
              payload={payload}
            />
          )}
          wrapperStyle={{ zIndex: 1 }}
        />
        {props.series.map((series) => (
          <Area
            key={series.name}
            dataKey={series.name}
            name={series.label}
            stroke={colorOf(series)}
            fill={colorOf(series)}
            {...form}
            activeDot={ActiveDot}
            isAnimationActive={false}
          />
        ))}
        {marks.map(
          ({ at, line }) =>
            line && (
              <ReferenceLine
                key={`${at} ${line.label}`}
                x={at}
                stroke={line.isBad ? bad : text}
                strokeDasharray={line.isBad ? '2 3' : '4 2'}
                label={{ value: line.label, position: 'insideTopLeft', fontSize: 10, fill: line.isBad ? bad : text }}
              />
            ),
        )}
        {legend(text)}
      </AreaChart>
    </ChartFrame>
  );
}

interface DotProps {
  cx?: number;
  cy?: number;
  fill?: string;
  dataKey?: unknown;
  payload?: Partial<Point>;
}

/** The dot of a pointed-at value. None for 0: stacked, it would mark the value of another series in its own color. */
function ActiveDot(props: DotProps) {
  const { cx, cy, fill, dataKey, payload } = props;
  return payload?.[String(dataKey)] ? <circle cx={cx} cy={cy} r={4} fill={fill} className="chart-dot" /> : <g />;
}

/** Counts have no dots, except the first sample: an area needs two. */
function Dot(props: DotProps & { points?: readonly unknown[] }) {
  return props.points?.length === 1 ? <ActiveDot {...props} /> : <g />;
}

interface ValuesProps {
  title: string;
  texts?: readonly string[];
  series: readonly Series[];
  payload: readonly { dataKey?: unknown; value?: unknown; color?: string }[] | undefined;
  format?: (value: number) => string;
}

/** The values of a time, in the order of the series. The colors of the series are too pale for small text. */
function Values({ title, texts = [], series, payload = [], format = formatNumber }: ValuesProps) {
  const rows = series.flatMap(({ name, label }) => {
    const found = payload.find(({ dataKey }) => dataKey === name);
    return found?.value === undefined ? [] : [{ name, label, color: found.color, value: Number(found.value) }];
  });
  return (
    <div className="chart-values">
      {title}
      {texts.map((text) => (
        <div key={text} className="tooltip-mark">
          {visibleText(text)}
        </div>
      ))}
      {rows.map(({ name, label, color, value }) => (
        <div key={name} className="chart-value" data-zero={value === 0 || undefined}>
          <span className="legend-dot" style={{ background: color }} />
          <span className="chart-label">
            <Name>{label}</Name>
          </span>
          <span className="figure">{format(value)}</span>
        </div>
      ))}
    </div>
  );
}

/** US dollars by period, as stacked bars. */
export function AmountChart(props: {
  label: string;
  rows: readonly ({ period: string } & Record<string, number | string>)[];
  series: readonly Series[];
}) {
  const { grid, text, colorOf } = useColors();
  return (
    <ChartFrame label={props.label}>
      <BarChart data={[...props.rows]} margin={{ top: 6, right: 8, bottom: 0, left: 0 }}>
        <CartesianGrid stroke={grid} vertical={false} />
        <XAxis dataKey="period" stroke={text} fontSize={11} minTickGap={20} />
        <YAxis stroke={text} fontSize={11} tickFormatter={formatUsd} />
        <Tooltip
          content={({ payload, label }) => (
            <Values title={String(label)} series={props.series} payload={payload} format={formatUsd} />
          )}
          wrapperStyle={{ zIndex: 1 }}
          cursor={{ fill: grid, fillOpacity: 0.4 }}
        />
        {props.series.map((series) => (
          <Bar
            key={series.name}
            dataKey={series.name}
            name={series.label}
            fill={colorOf(series)}
            stackId="one"
            isAnimationActive={false}
          />
        ))}
        {legend(text)}
      </BarChart>
    </ChartFrame>
  );
}

function ChartFrame({ label, children }: { label: string; children: ReactElement }) {
  return (
    <div className="chart" role="img" aria-label={label}>
      <ResponsiveContainer>{children}</ResponsiveContainer>
    </div>
  );
}

/** A legend in the text color, in the order of the series, as wide as the chart. */
function legend(color: string) {
  return (
    <Legend
      iconType="circle"
      iconSize={8}
      itemSorter={null}
      wrapperStyle={{ fontSize: 12, left: 0, width: '100%' }}
      formatter={(label: string) => (
        <span className="chart-label" style={{ color }} title={visibleText(label)}>
          <Name>{label}</Name>
        </span>
      )}
    />
  );
}

function dateOf(at: unknown): string {
  return new Date(Number(at)).toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'short' });
}

function timeOf(at: unknown): string {
  return new Date(Number(at)).toLocaleTimeString();
}

function minuteOf(at: unknown): string {
  return new Date(Number(at)).toLocaleTimeString(undefined, { timeStyle: 'short' });
}

function spanOf(points: readonly Point[]): number {
  return points.length === 0 ? 0 : points.at(-1)!.at - points[0]!.at;
}
