import './charts.css';
import { Table, UnstyledButton } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { Legend, ResponsiveContainer } from 'recharts';
import { SmallTable } from '../tables/small-table.tsx';
import { Name } from '../text/record-name.tsx';
import { visibleText } from '../text/visible-text.ts';
import { formatIn, type Series, type Unit } from './series.ts';
import { formatTick, valueTicks } from './ticks.ts';

interface ChartFrameProps {
  label: string;
  /** The chart's values as a table: a row for each time. */
  rows: readonly { title: string; values: Readonly<Record<string, unknown>> }[];
  series: readonly Series[];
  unit: Unit | undefined;
  /** Present while the chart shows a part of its time. */
  onWhole?: (() => void) | undefined;
  children: ReactElement;
}

/** A chart as a picture, with its values as a table on request. */
export function ChartFrame({ label, rows, series, unit, onWhole, children }: ChartFrameProps) {
  const [isTable, setTable] = useState(false);
  const isEmpty = rows.every(({ values }) => series.every(({ name }) => values[name] === undefined));
  return (
    <div className="chart-frame">
      <div className="chart-tools">
        {onWhole && (
          <UnstyledButton className="chart-tool" onClick={onWhole}>
            Whole period
          </UnstyledButton>
        )}
        <UnstyledButton className="chart-tool" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          Table<span className="visually-hidden"> of {label}</span>
        </UnstyledButton>
      </div>
      {isTable ? (
        <div className="chart-table">
          <SmallTable
            label={label}
            titles={['Time', ...series.map((one) => visibleText(one.label))]}
            minWidth={0}
            isFocusable
          >
            {rows.map(({ title, values }) => (
              <Table.Tr key={title}>
                <Table.Td className="nowrap">{title}</Table.Td>
                {series.map(({ name }) => (
                  <Table.Td key={name} className="figure">
                    {values[name] === undefined ? '' : formatIn(unit, Number(values[name]))}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </SmallTable>
        </div>
      ) : (
        <div className="chart" role="img" aria-label={label}>
          <ResponsiveContainer>{children}</ResponsiveContainer>
          {isEmpty && <div className="chart-empty">No values in this time</div>}
        </div>
      )}
    </div>
  );
}

interface ValuesProps {
  title: string;
  texts?: readonly string[];
  series: readonly Series[];
  payload: readonly { dataKey?: unknown; value?: unknown; color?: string }[] | undefined;
  unit: Unit | undefined;
}

/** The values of a time, in the order of the series. The colors of the series are too pale for small text. */
export function ChartValues({ title, texts = [], series, payload = [], unit }: ValuesProps) {
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
          <span className="figure">{formatIn(unit, value)}</span>
        </div>
      ))}
    </div>
  );
}

/** Common to both axes of every chart. */
export function axis(color: string) {
  return { stroke: color, fontSize: 11, axisLine: false, tickLine: false } as const;
}

/**
 * The axis of values, from 0 to the largest of `values` or what they are stacked to: as wide in every chart, so that charts below
 * each other have the same times in the same place.
 */
export function valueAxis(props: {
  color: string;
  unit: Unit | undefined;
  points: readonly Readonly<Record<string, unknown>>[];
  series: readonly Series[];
  isStacked: boolean;
  areWhole: boolean;
}) {
  const { color, unit, points, series, isStacked, areWhole } = props;
  const valuesOf = (point: Readonly<Record<string, unknown>>) => series.map(({ name }) => Number(point[name] ?? 0));
  const tops = points.map((point) => {
    const values = valuesOf(point);
    return isStacked ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values);
  });
  const ticks = valueTicks(Math.max(0, ...tops), unit, areWhole);
  const top = ticks.at(-1)!;
  const tickFormatter = (value: number) => formatTick(unit, value, top);
  return { ...axis(color), width: 56, ticks, domain: [0, top], interval: 0, tickFormatter } as const;
}

export const CHART_MARGIN = { top: 8, right: 12, bottom: 0, left: 0 } as const;

/** A legend in the text color, in the order of the series, as wide as the chart. */
export function chartLegend(color: string) {
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
