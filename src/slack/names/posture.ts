import { dropMissing } from '../../lib/collections.ts';
import { summarizePosture } from '../../names/posture.ts';
import type { ActionCall, CommandCall, Feature, Interaction } from '../feature.ts';
import type { Message } from '../kit/blocks.ts';
import { createPageActions, type PageRequest, slicePage } from '../kit/pages.ts';
import { parseQuery } from './names.ts';
import { NAMES_PER_PAGE, postureMessage } from './posture.view.ts';

const ALL = 'all';

/** `text` is what the person entered after `posture`: an optional `all`, then the filter. */
async function buildPosturePage(call: Interaction, { of: text, offset }: PageRequest): Promise<Message> {
  const [first, ...rest] = text.split(' ');
  const includesNotes = first === ALL;
  const filter = (includesNotes ? rest : dropMissing([first, ...rest])).join(' ').trim();
  const parsed = await parseQuery(call, filter);
  if ('issueMessage' in parsed) return parsed.issueMessage;
  const { names, counts } = summarizePosture(await parsed.loadAssessedNames(), call.context.now());
  const shownNames = names.filter(
    ({ status, findings }) => status !== 'fine' || (includesNotes && findings.length > 0),
  );
  const page = slicePage(shownNames, offset, NAMES_PER_PAGE);
  return postureMessage({ filter, includesNotes, counts, page });
}

export const posture = {
  commands: [
    {
      usage: 'posture [all] [FILTER…]',
      summary: 'List problems with names, worst first; `all` adds notes',
      example: '/domain posture tag:brand',
      run: async (call: CommandCall) =>
        call.respond(await buildPosturePage(call, { of: call.words.join(' '), offset: 0 })),
    },
  ],
  actions: createPageActions('posture', async (call: ActionCall, request) =>
    call.respond(await buildPosturePage(call, request), { replace: true }),
  ),
} as const satisfies Feature;
