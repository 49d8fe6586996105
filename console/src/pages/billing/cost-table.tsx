import { Anchor, Badge, Group, Progress, Text } from '@mantine/core';
import { Link } from 'react-router';
import { type Column, RecordList } from '../../ui/tables/record-list.tsx';
import { formatCost, formatCount, formatPercent } from '../../ui/text/format.ts';
import { Name } from '../../ui/text/record-name.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { type CostGroup, type Costs, groupLink, groupName, shareOf } from './cost-rows.ts';

const idOf = ({ id, userId }: CostGroup) => `${id} ${userId}`;
const textOf = (group: CostGroup) => `${group.id} ${groupName(group)} ${group.userName ?? ''}`;

const PARTS: readonly { title: string; key: string; amountOf: (group: CostGroup) => string }[] = [
  { title: 'GPU', key: 'gpu', amountOf: ({ gpuAmount }) => gpuAmount },
  { title: 'CPU', key: 'cpu', amountOf: ({ cpuAmount }) => cpuAmount },
  { title: 'Storage', key: 'storage', amountOf: ({ storageAmount }) => storageAmount },
];

/** The cost of each group with its share, the largest first. */
export function CostTable({ costs, isAll, ownId }: { costs: Costs; isAll: boolean; ownId: string | undefined }) {
  const { groups, otherCount, otherAmount } = costs;
  return (
    <div>
      <RecordList
        label="Cost by group"
        items={groups}
        columns={columnsOf(costs, isAll, ownId)}
        idOf={idOf}
        textOf={textOf}
        defaultSort="-cost"
      />
      {otherCount > 0 && (
        <Text size="sm" c="dimmed" p="sm">
          {formatCount(otherCount, 'other')} cost {formatCost(Number(otherAmount))}. The export has them all.
        </Text>
      )}
    </div>
  );
}

function columnsOf({ by, total }: Costs, isAll: boolean, ownId: string | undefined): Column<CostGroup>[] {
  const hasOwner = isAll && by !== 'user' && by !== 'product';
  const owner: Column<CostGroup> = {
    title: 'User',
    sortKey: 'user',
    sortValue: ({ userName }) => userName,
    render: ({ userName, userId }) => <Name>{userName ?? userId ?? ''}</Name>,
  };
  return [
    {
      title: 'Name',
      sortKey: 'name',
      sortValue: groupName,
      render: (group) => <GroupName group={group} link={groupLink(by, group, ownId)} />,
    },
    ...(hasOwner ? [owner] : []),
    ...PARTS.map(({ title, key, amountOf }) => ({
      title,
      isNumber: true,
      sortKey: key,
      sortValue: (group: CostGroup) => Number(amountOf(group)),
      render: (group: CostGroup) => formatCost(Number(amountOf(group))),
    })),
    {
      title: 'Cost',
      isNumber: true,
      sortKey: 'cost',
      sortValue: ({ amount }) => Number(amount),
      render: ({ amount }) => <b>{formatCost(Number(amount))}</b>,
    },
    {
      title: 'Share',
      width: '170px',
      render: (group) => <Share percent={shareOf(group.amount, total)} name={groupName(group)} />,
    },
  ];
}

function GroupName({ group, link }: { group: CostGroup; link: string | undefined }) {
  if (link !== undefined) {
    return (
      <Anchor component={Link} to={link} size="sm">
        <Name>{groupName(group)}</Name>
      </Anchor>
    );
  }
  return (
    <Group gap="xs">
      <Text size="sm">
        <Name>{groupName(group)}</Name>
      </Text>
      {group.isDeleted && (
        <Badge size="xs" variant="default" tt="none">
          deleted
        </Badge>
      )}
    </Group>
  );
}

function Share({ percent, name }: { percent: number; name: string }) {
  const text = formatPercent(percent);
  return (
    <Group gap="xs" wrap="nowrap">
      <Progress value={percent} w={70} visibleFrom="xs" size="sm" aria-label={visibleText(`${name}: ${text}`)} />
      <Text size="xs" className="figure nowrap">
        {text}
      </Text>
    </Group>
  );
}
