/** The tasks that CSV files can request, and the columns of each task. */

export const BULK_TASKS = ['renew', 'nameservers', 'delete', 'transfer', 'create'] as const;
export type BulkTask = (typeof BULK_TASKS)[number];

const CONTACT_COLUMNS = ['ownerc', 'adminc', 'techc'] as const;
const ALL_COLUMNS = ['name', 'period', 'auth', ...CONTACT_COLUMNS, 'nameservers'] as const;
export type BulkColumn = (typeof ALL_COLUMNS)[number];

export const BULK_COLUMNS: Readonly<Record<BulkTask, readonly BulkColumn[]>> = {
  renew: ['name', 'period'],
  nameservers: ['name', 'nameservers'],
  delete: ['name'],
  transfer: ['name', 'auth', ...CONTACT_COLUMNS, 'nameservers'],
  create: ['name', ...CONTACT_COLUMNS, 'nameservers'],
};

export function isBulkColumn(text: string): text is BulkColumn {
  return ALL_COLUMNS.some((column) => column === text);
}
