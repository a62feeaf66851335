import { approveOrder } from '../../src/approvals/approve.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/duration.ts';
import type { MandateAct } from '../../src/mandates/ports.ts';
import { runMandates } from '../../src/mandates/run.ts';
import type { MandateTerms } from '../../src/mandates/terms.ts';
import type { Order } from '../../src/orders/order.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { getUtcDay } from '../../src/zones/calendar-day.ts';
import type { Rig } from '../orders/rig.ts';

/** Adds helpers for mandates to the order rig. */
export function createMandateHelpers(rig: Rig) {
  return {
    /** Watches a name that expires in `inDays` days and costs `price` cents. */
    async watch(
      name: string,
      inDays: number,
      price: number | undefined = 2_000,
      tags: readonly string[] = [],
    ) {
      const expiresAt = new Date(rig.now.getTime() + inDays * DAY_MS);
      await rig.sql(
        `INSERT INTO domains (name, expires_at, expiry_source, added_by, added_at, next_dns_lookup_at, next_registry_lookup_at, last_lookup_at, tags)
         VALUES ($1, $2, 'rdap', 'U0ALICE', $3, $3, $3, $3, $4)`,
        name,
        expiresAt,
        rig.now,
        [...tags],
      );
      rig.tags.set(name, tags);
      if (price !== undefined) rig.prices.set(name, price);
    },
    /** Alice requests a mandate. */
    requestMandate(changes: Partial<MandateTerms> = {}): Promise<Order> {
      return rig.requestAccepted('mandate', {
        mandate_names: ['*.rest'],
        max_price: { currency: 'EUR', minor: 2_000 },
        max_total: { currency: 'EUR', minor: 10_000 },
        span: 'month',
        until: getUtcDay(new Date(rig.now.getTime() + 300 * DAY_MS)),
        notice: 14,
        ...changes,
      });
    },
    /** Alice requests a mandate, and Bob approves it. */
    async createMandate(changes: Partial<MandateTerms> = {}): Promise<Order> {
      const { id } = await this.requestMandate(changes);
      const outcome = await approveOrder(rig.orders, id, 'U0BOB');
      if (!outcome.ok) throw new Error(refusalText(outcome.refusal));
      await rig.runDue();
      return rig.read(id);
    },
    run: () => runMandates(rig.mandates),
    async listActs(): Promise<readonly MandateAct[]> {
      const rows = await rig.sql('SELECT DISTINCT day::text AS day FROM mandate_acts ORDER BY 1');
      const days = rows.map(({ day }) => String(day));
      return (await Promise.all(days.map((day) => rig.mandates.mandates.listActsOfDay(day)))).flat();
    },
    /** Runs the mandates and returns the last check's act for a name. */
    async runAndFindAct(name: string): Promise<MandateAct> {
      await this.run();
      const act = (await this.listActs()).find((each) => each.name === name);
      if (act === undefined) throw new Error(`no mandate has acted for ${name}`);
      return act;
    },
    /** Records the daily mandate message as posted. */
    async markAnnounced(): Promise<void> {
      const ids = (await this.listActs()).map(({ id }) => id);
      await rig.mandates.mandates.recordAnnouncement(ids, rig.now, { channelId: 'C0REMINDERS', ts: '1.1' });
    },
    /** Records another registry lookup with the same result. */
    async recordLookup(): Promise<void> {
      await rig.sql('UPDATE domains SET last_lookup_at = $1', rig.now);
    },
    /** Advances a day and a half, then runs all due work, which sends allowed renewals. */
    async advanceAndSend(): Promise<void> {
      rig.advanceClock(DAY_MS + 12 * HOUR_MS);
      await this.recordLookup();
      await rig.runDue();
    },
  };
}
