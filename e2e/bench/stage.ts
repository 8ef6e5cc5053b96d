/** What every row stands on: the ways in, for pages and for bare sockets. */
import type { BrowserContext, Page } from 'playwright';
import { ready, until, type Bench } from '../faults/bench.ts';
import { Tab } from '../faults/tab.ts';
import { Ui } from '../holdfast.ts';
import { login } from '../login.ts';

const entered = new WeakSet<BrowserContext>();

/** Where a session is. */
export const address = ({ holdfast }: Bench, session: string) =>
	new URL(`/?session=${session}`, holdfast.url).href;

/**
 * The one way to a page: the printed URL first in each context, then the session asked for, or a
 * new one. `prepare` is called before the page that is meant is loaded.
 */
export async function openPage(
	bench: Bench,
	{ session, prepare }: { session?: string; prepare?: (page: Page) => Promise<void> } = {},
): Promise<{ page: Page; ui: Ui }> {
	const { context, holdfast } = bench;
	const page = await context.newPage();
	const known = entered.has(context);
	entered.add(context);
	if (!known && session !== undefined) {
		await page.goto(holdfast.address());
		await ready(page);
	}
	await prepare?.(page);
	const target = known ? new URL('/', holdfast.url).href : holdfast.address();
	await page.goto(session === undefined ? target : address(bench, session));
	await ready(page);
	return { page, ui: new Ui(page) };
}

/** The one way in without a page. It has its session when this resolves. */
export async function openTab(bench: Bench, session: string, attentive = false): Promise<Tab> {
	const tab = new Tab(await login(bench.holdfast.address()), session, attentive);
	await tab.open();
	await until('a snapshot', () => tab.greeted, 60_000);
	return tab;
}

/** The session that a page shows, once something was said in it. */
export const sessionOf = (page: Page) => new URL(page.url()).searchParams.get('session')!;
