import { z } from 'zod';
import { MAX_NOTE_LENGTH } from '../../names/portfolio.ts';
import { type FieldDisplay, field } from '../kit/form.ts';
import { cleanReason } from '../kit/parse.ts';

const OWNER_DISPLAY: FieldDisplay = {
  label: 'Owner',
  kind: 'person',
  hint: 'Reminders mention this person, or go to them directly if no channel is set.',
};
const NOTE_DISPLAY: FieldDisplay = { label: 'Note', kind: 'text' };

const optionalIdSchema = z.string().optional();
const noteSchema = z
  .string()
  .transform(cleanReason)
  .refine(
    (text) => text === undefined || text.length <= MAX_NOTE_LENGTH,
    `Use at most ${MAX_NOTE_LENGTH} characters.`,
  )
  .optional();

export function ownerField(overrides: Partial<FieldDisplay> = {}) {
  return field({ ...OWNER_DISPLAY, ...overrides }, optionalIdSchema);
}

export function requiredOwnerField(hint: string) {
  return field({ ...OWNER_DISPLAY, hint }, z.string('Choose an owner.'));
}

export function noteField(overrides: Partial<FieldDisplay> = {}) {
  return field({ ...NOTE_DISPLAY, ...overrides }, noteSchema);
}
