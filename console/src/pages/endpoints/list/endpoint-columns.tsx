import type { ReactNode } from 'react';
import { Sparkline } from '../../../ui/charts/sparkline.tsx';
import type { Column } from '../../../ui/tables/record-table.tsx';
import { formatCost, formatDuration, formatNumber, formatRate, NO_VALUE } from '../../../ui/text/format.ts';
import { shortReason } from '../../../ui/text/reason.ts';
import { Name, RecordLink } from '../../../ui/text/record-name.tsx';
import { Status } from '../../../ui/text/status.tsx';
import { visibleText } from '../../../ui/text/visible-text.ts';
import { ENDPOINT_STATES } from '../endpoint-states.ts';
import { ENDPOINT_FIELDS } from '../settings/endpoint-values.ts';
import { briefReason, stateTitle } from '../state-text.ts';
import type { EndpointRow } from './endpoint-rows.ts';

export const linkOf = ({ endpoint }: EndpointRow) => `/endpoints/${endpoint.id}`;

export const ENDPOINT_COLUMNS: readonly Column<EndpointRow>[] = [
  { title: 'Name', sortKey: 'name', render: (row) => <NameCell row={row} /> },
  {
    title: 'State',
    sortKey: 'state',
    width: 'clamp(170px, 22%, 340px)',
    render: ({ state }) => <StateCell state={state} />,
  },
  {
    title: 'Requests/s',
    sortKey: 'requests',
    isSecondary: true,
    isNumber: true,
    width: 'var(--course-width)',
    render: ({ figures }) => (
      <Course
        text={formatRate(figures?.requestsPerSecond ?? 0)}
        values={figures?.series?.requests}
        label="Requests over the last hour"
      />
    ),
  },
  {
    title: 'p95 latency',
    sortKey: 'latency',
    isSecondary: true,
    isNumber: true,
    isWide: true,
    width: '160px',
    render: ({ figures }) => (
      <Course
        text={figures?.latencyP95Ms == null ? NO_VALUE : formatDuration(figures.latencyP95Ms)}
        values={figures?.series?.latencyP95Ms}
        label="p95 latency over the last hour"
      />
    ),
  },
  {
    title: 'Workers',
    sortKey: 'workers',
    isSecondary: true,
    isNumber: true,
    width: '100px',
    render: ({ workers, endpoint }) => <WorkerCount count={workers} limits={endpoint.workers} />,
  },
  {
    title: 'Queued',
    sortKey: 'waiting',
    isSecondary: true,
    isNumber: true,
    width: '84px',
    render: ({ waiting }) => (waiting === 0 ? <Nothing /> : formatNumber(waiting)),
  },
  {
    title: 'Cost today',
    sortKey: 'cost',
    isSecondary: true,
    isNumber: true,
    width: '104px',
    render: ({ figures }) =>
      figures === undefined || figures.costToday === 0 ? <Nothing /> : formatCost(figures.costToday),
  },
];

function NameCell({ row }: { row: EndpointRow }) {
  const { name, image } = row.endpoint;
  return (
    <TwoLines
      first={<RecordLink to={linkOf(row)} name={name} />}
      second={`${ENDPOINT_FIELDS.type.choices![row.endpoint.type]} · ${image}`}
    />
  );
}

/** The state, and why; all of it on hover. */
function StateCell({ state }: { state: EndpointRow['state'] }) {
  if (!state) return null;
  return (
    <TwoLines
      first={<Status table={ENDPOINT_STATES} value={state.state} />}
      second={state.reason === null ? '' : briefReason(state.reason)}
      title={state.reason === null ? stateTitle(state) : `${stateTitle(state)}: ${shortReason(state.reason)}`}
    />
  );
}

function TwoLines({ first, second, title }: { first: ReactNode; second: string; title?: string }) {
  return (
    <div className="cell-lines" title={visibleText(title ?? second)}>
      {first}
      {second !== '' && (
        <div className="second-line">
          <Name>{second}</Name>
        </div>
      )}
    </div>
  );
}

function Nothing() {
  return <span className="second-value">{NO_VALUE}</span>;
}

/** A figure and how it came about. */
function Course(props: { text: string; values: readonly (number | null)[] | undefined; label: string }) {
  const { text, values, label } = props;
  return (
    <div className="cell-values">
      {text === NO_VALUE ? <Nothing /> : <span>{text}</span>}
      {values ? <Sparkline values={values} label={label} /> : <span className="sparkline" />}
    </div>
  );
}

function WorkerCount({ count, limits: { min, max } }: { count: number; limits: { min: number; max: number } }) {
  return (
    <div className="cell-values">
      {count}
      <small className="second-value">
        of {min}–{max}
      </small>
    </div>
  );
}
