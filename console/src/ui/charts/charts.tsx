import { useComputedColorScheme } from '@mantine/core';
import { useState } from 'react';
import {
  Area,
  AreaChart,
  Bar,
  BarChart,
  CartesianGrid,
  ReferenceArea,
  ReferenceLine,
  Tooltip,
  XAxis,
  YAxis,
} from 'recharts';
import { axis, CHART_MARGIN, ChartFrame, ChartValues, chartLegend, valueAxis } from './chart-frame.tsx';
import { drawnRange, pointsIn, useChartRange } from './chart-range.ts';
import {
  CHART_COLORS,
  CHART_FRAME,
  type ChartMark,
  hasRoom,
  lateFrom,
  type Series,
  textsAt,
  type Unit,
} from './series.ts';
import { timeTicks } from './ticks.ts';

type Point = { at: number } & Record<string, number | undefined>;

function useColors() {
  const scheme = useComputedColorScheme('light');
  return {
    ...CHART_FRAME[scheme],
    bad: CHART_COLORS.red[scheme],
    colorOf: (series: Series) => CHART_COLORS[series.color][scheme],
  };
}

/** With more samples, dots would hide the lines. */
const MAX_DOTS = 100;

/** Over a longer time the axis shows minutes, and over days dates. */
const SECONDS_UP_TO_MS = 20 * 60_000;
const MINUTES_UP_TO_MS = 36 * 3_600_000;

/**
 * Values over time: counts as stacked areas, or measurements as lines with a dot for each sample. Charts of the past show the part
 * that a pointer is drawn over, all of a page the same one.
 */
export function TimeChart(props: {
  label: string;
  points: readonly Point[];
  series: readonly Series[];
  unit?: Unit;
  areMeasurements?: boolean;
  /** Over days: times have dates. */
  isLong?: boolean;
  /** The values are not whole numbers. */
  hasFractions?: boolean;
  marks?: readonly ChartMark[];
  /** It is a chart of the past. */
  canZoom?: boolean;
}) {
  const { label, series, unit, areMeasurements = false, marks = [], canZoom = false } = props;
  const areWhole = !props.hasFractions;
  const { range, setRange } = useChartRange(canZoom);
  const points = pointsIn(props.points, range);
  const isPart = points !== props.points;
  const [from, until] = [points[0]?.at ?? 0, points.at(-1)?.at ?? 0];
  const span = until - from;
  const times = timeTicks(from, until);
  const formatTime = props.isLong ? dateOf : span < SECONDS_UP_TO_MS ? timeOf : minuteOf;
  // Counts have no stroke: an area of height 0 would draw its line over those below it.
  const form = areMeasurements
    ? ({
        type: 'linear',
        fillOpacity: 0,
        connectNulls: true,
        dot: points.length <= MAX_DOTS && { r: 2 },
      } as const)
    : ({ type: 'stepAfter', fillOpacity: 0.6, strokeWidth: 0, stackId: 'one', dot: Dot } as const);
  const { grid, text, bad, colorOf } = useColors();
  const drawing = useDrawing((one, other) => {
    const drawn = drawnRange(one, other, points);
    if (drawn !== null) setRange(drawn);
  });
  return (
    <ChartFrame
      label={label}
      rows={points.map((values) => ({ title: formatTime(values.at), values })).reverse()}
      series={series}
      unit={unit}
      onWhole={isPart ? () => setRange(null) : undefined}
    >
      <AreaChart data={[...points]} margin={CHART_MARGIN} {...(canZoom && drawing.handlers)}>
        <CartesianGrid stroke={grid} vertical={false} />
        <XAxis
          dataKey="at"
          type="number"
          domain={['dataMin', 'dataMax']}
          ticks={times}
          tickFormatter={span > MINUTES_UP_TO_MS ? dayOf : times.every((at) => at % 60_000 === 0) ? minuteOf : timeOf}
          interval="equidistantPreserveStart"
          minTickGap={8}
          {...axis(text)}
        />
        <YAxis {...valueAxis({ color: text, unit, points, series, isStacked: !areMeasurements, areWhole })} />
        <Tooltip
          content={({ payload, label: at }) => (
            <ChartValues
              title={formatTime(at)}
              texts={textsAt(marks, Number(at))}
              series={series}
              payload={payload}
              unit={unit}
            />
          )}
          wrapperStyle={{ zIndex: 1 }}
        />
        {series.map((one) => (
          <Area
            key={one.name}
            dataKey={one.name}
            name={one.label}
            stroke={colorOf(one)}
            fill={colorOf(one)}
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
                {...(hasRoom(marks, at, until, span) && {
                  label: {
                    ...{ value: line.label, fontSize: 10, fill: line.isBad ? bad : text },
                    position: at > lateFrom(until, span) ? 'insideTopRight' : 'insideTopLeft',
                  },
                })}
              />
            ),
        )}
        {drawing.part && <ReferenceArea x1={drawing.part[0]} x2={drawing.part[1]} fill={text} fillOpacity={0.15} />}
        {chartLegend(text)}
      </AreaChart>
    </ChartFrame>
  );
}

/** Follows a pointer that is pressed over a chart, and calls `onDrawn` with both times once it is released. */
function useDrawing(onDrawn: (one: number, other: number) => void) {
  const [part, setPart] = useState<[number, number] | null>(null);
  const end = () => {
    if (part !== null) onDrawn(...part);
    setPart(null);
  };
  const at = ({ activeLabel }: { activeLabel?: string | number | undefined }) =>
    activeLabel === undefined ? null : Number(activeLabel);
  const handlers = {
    onMouseDown: (state: { activeLabel?: string | number | undefined }) => {
      const start = at(state);
      if (start !== null) setPart([start, start]);
    },
    onMouseMove: (state: { activeLabel?: string | number | undefined }) => {
      const now = at(state);
      if (part !== null && now !== null) setPart([part[0], now]);
    },
    onMouseUp: end,
    onMouseLeave: end,
    style: { cursor: 'crosshair', userSelect: 'none' },
  } as const;
  return { part, handlers };
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

/** US dollars by period, as stacked bars. */
export function AmountChart(props: {
  label: string;
  rows: readonly ({ period: string } & Record<string, number | string>)[];
  series: readonly Series[];
}) {
  const { label, rows, series } = props;
  const { grid, text, colorOf } = useColors();
  return (
    <ChartFrame
      label={label}
      rows={rows.map((values) => ({ title: values.period, values })).reverse()}
      series={series}
      unit="usd"
    >
      <BarChart data={[...rows]} margin={CHART_MARGIN}>
        <CartesianGrid stroke={grid} vertical={false} />
        <XAxis dataKey="period" interval="equidistantPreserveStart" minTickGap={12} {...axis(text)} />
        <YAxis {...valueAxis({ color: text, unit: 'usd', points: rows, series, isStacked: true, areWhole: false })} />
        <Tooltip
          content={({ payload, label: period }) => (
            <ChartValues title={String(period)} series={series} payload={payload} unit="usd" />
          )}
          wrapperStyle={{ zIndex: 1 }}
          cursor={{ fill: grid, fillOpacity: 0.4 }}
        />
        {series.map((one) => (
          <Bar
            key={one.name}
            dataKey={one.name}
            name={one.label}
            fill={colorOf(one)}
            stackId="one"
            isAnimationActive={false}
          />
        ))}
        {chartLegend(text)}
      </BarChart>
    </ChartFrame>
  );
}

function dateOf(at: unknown): string {
  return new Date(Number(at)).toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'short' });
}

function dayOf(at: unknown): string {
  return new Date(Number(at)).toLocaleDateString(undefined, { month: 'short', day: 'numeric' });
}

function timeOf(at: unknown): string {
  return new Date(Number(at)).toLocaleTimeString();
}

function minuteOf(at: unknown): string {
  return new Date(Number(at)).toLocaleTimeString(undefined, { timeStyle: 'short' });
}
