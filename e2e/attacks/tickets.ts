import { randomBytes } from 'node:crypto';
import { readdirSync, utimesSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { login } from '../login.ts';
import { stateFolder } from '../../server/state-folder.ts';
import { startForward } from './forward.ts';
import { change, post, send, upgrade } from './raw-http.ts';
import type { Report } from './report.ts';
import { expect, ready, type Stage, type Target } from './stage.ts';

const GUESSES = 1_000;
const AT_ONCE = 20;

export async function tickets(report: Report, stage: Stage) {
	const { target } = stage;
	const { port, holdfast } = target;
	const origin = new URL(holdfast.url).origin;
	const ticket = () => new URL(holdfast.address()).hash.replace('#ticket=', '');
	const trade = async (ticket: unknown, path = '/api/login') =>
		(await send(port, bare(origin, path, JSON.stringify({ ticket })))).status;

	report.begin('a ticket, used twice');
	const twice = ticket();
	report.line('POST /api/login {ticket}, twice', '200, 401', await both(trade, twice, twice));
	const raced = ticket();
	const statuses = await Promise.all(Array.from({ length: 20 }, () => trade(raced)));
	const won = statuses.filter((status) => status === 200).length;
	report.line('20 times at once', '1 gets in', `${won} gets in`);

	report.begin('a ticket after 10 minutes');
	const [old, young] = [ticket(), ticket()];
	age(target, 10 * 60 + 5);
	report.line('POST /api/login {ticket}, 10 min 5 s old', '401', String(await trade(old)));
	const younger = ticket();
	age(target, 9 * 60);
	report.line('POST /api/login {ticket}, 9 min old', '200', String(await trade(younger)));
	report.line('one that was forgotten meanwhile', '401', String(await trade(young)));

	report.begin('a ticket in the query string');
	const asked = ticket();
	const queried = await trade(undefined, `/api/login?ticket=${asked}`);
	report.line(
		'POST /api/login?ticket=…, then as it should be',
		'404, 200',
		`${queried}, ${await trade(asked)}`,
	);

	report.begin('a ticket that is none');
	for (const [request, value, expected] of [
		['a path', '../secret', 401],
		['empty', '', 401],
		['a list', ['x'], 400],
		['an object', { length: 1 }, 400],
		['300 characters', 'x'.repeat(300), 400],
	] as const) {
		report.line(`POST /api/login, ${request}`, String(expected), String(await trade(value)));
	}

	report.begin(`${GUESSES} guesses`);
	const real = ticket();
	const counts = new Map<number, number>();
	const guess = async () => {
		const status = await trade(randomBytes(32).toString('base64url'));
		counts.set(status, (counts.get(status) ?? 0) + 1);
	};
	for (let done = 0; done < GUESSES; done += AT_ONCE) {
		await Promise.all(Array.from({ length: AT_ONCE }, guess));
	}
	const said = [...counts].map(([status, count]) => `${count} × ${status}`).join(', ');
	report.line('tickets', `${GUESSES} × 401`, said);
	report.line("then the owner's own", '200', String(await trade(real)));

	const { cookie, key } = await login(holdfast.address());
	const credentials = {
		origin,
		cookie,
		key,
		protocols: ['holdfast', `key.${key}`],
		headers: {} as never,
	};
	let opened = 0;
	for (let count = 0; count < 100; count++) {
		const guessed = randomBytes(32).toString('base64url');
		const { status } = await send(
			port,
			change(upgrade(credentials), 'Sec-WebSocket-Protocol', `holdfast, key.${guessed}`),
		);
		if (status !== 401) opened++;
	}
	report.line('100 keys for a cookie that was seen', '0 get in', `${opened} get in`);

	await whereItGoes(report, stage);
}

const both = async (trade: (ticket: string) => Promise<number>, one: string, two: string) =>
	`${await trade(one)}, ${await trade(two)}`;

/** A request of a page that has no log-in yet. */
const bare = (origin: string, path: string, body: string) => {
	const none = { origin, cookie: '', key: '', protocols: [], headers: { Cookie: '', Origin: '' } };
	return change(change(post(path, none, body), 'Cookie'), 'Authorization');
};

/** Makes all tickets older than they are. */
function age({ holdfast }: Target, seconds: number) {
	const folder = join(stateFolder(holdfast.env), 'tickets');
	const then = Date.now() / 1000 - seconds;
	for (const name of readdirSync(folder)) utimesSync(join(folder, name), then, then);
}

/** Everything that the browser sends on its way in is written down by a relay in between. */
async function whereItGoes(report: Report, { browser, target }: Stage) {
	const relay = await startForward(target.port);
	const referers: (string | undefined)[] = [];
	const elsewhere = createHttpServer((request, response) => {
		referers.push(`${request.url} ${request.headers.referer ?? ''}`);
		response.end('Elsewhere.');
	});
	await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
	const { port } = elsewhere.address() as AddressInfo;
	const { hash } = new URL(target.holdfast.address());
	const ticket = hash.replace('#ticket=', '');
	const context = await browser.newContext();
	try {
		const page = await context.newPage();
		await page.goto(`${relay.origin}/${hash}`);
		await ready(page);
		report.begin('a ticket where it does not belong');
		report.line(
			'the address of the page, once it is in',
			'/',
			page.url().replace(relay.origin, ''),
		);
		await page.evaluate((url) => {
			const link = document.body.appendChild(document.createElement('a'));
			link.href = url;
			link.click();
		}, `http://127.0.0.1:${port}/linked`);
		await expect(page.getByText('Elsewhere.')).toBeVisible();
		await page.goBack();
		await ready(page);
		report.line('the address after going back to it', '/', page.url().replace(relay.origin, ''));
		await page.goto('about:blank');
		const lines = referers.filter((line) => line?.startsWith('/linked'));
		report.line('the Referer that a page sees that it leads to', '/linked ', lines.join());

		// As the address of a bookmark or a chat would carry it.
		const query = await browser.newContext();
		const other = await query.newPage();
		await other.goto(`${relay.origin}/?ticket=${ticket}`);
		await expect(other.getByText('This browser is not logged in')).toBeVisible();
		report.line('the page with a ticket in its query string', 'not logged in', 'not logged in');
		await query.close();
	} finally {
		await context.close();
		await relay.close();
		await new Promise((resolve) => elsewhere.close(resolve));
	}
	const all = relay.sent.join('\n');
	const mentions = all.split(ticket).length - 1;
	const inBody = all.includes(`\r\n\r\n{"ticket":"${ticket}"}`);
	const inQuery = all.split(`/?ticket=${ticket}`).length - 1;
	report.line(
		'all that the browser sent on its way in',
		'once, in the body of the log-in',
		mentions - inQuery === 1 && inBody ? 'once, in the body of the log-in' : `${mentions} times`,
	);
	report.line('of it, in request lines and Referers', 'none', inOthers(all, ticket));
}

function inOthers(all: string, ticket: string) {
	const lines = all
		.split('\r\n')
		.filter((line) => /^(GET|POST) |^Referer:/i.test(line) && !line.includes('/?ticket='));
	return lines.filter((line) => line.includes(ticket)).join() || 'none';
}
