import { randomUUID } from 'node:crypto';
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import type { Page } from 'playwright';
import type { Step } from '../../server/demo/provider.ts';
import { until } from '../faults/bench.ts';
import { sessionFiles } from '../faults/session-file.ts';
import { Tab } from '../faults/tab.ts';
import { login } from '../login.ts';
import type { Ui } from '../holdfast.ts';
import { HOSTILE, marked, markOf } from './payloads.ts';
import type { Report } from './report.ts';
import { Sentry } from './sentry.ts';
import { expect, openPage, ready, type Stage, type Target } from './stage.ts';

const ALL = HOSTILE.length;
/** Characters that move about what is around them, and those that a terminal would obey. */
const REORDERING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const COMMANDING = /[\0-\x08\x0b-\x1f\x7f-\x9f]/;
/** So long are the names in the list. */
const NAMED = 60;

interface Scene {
	target: Target;
	page: Page;
	ui: Ui;
	sentry: Sentry;
}

/** Each text on each way to the page, where it must be shown, and nothing else. */
export async function channels(report: Report, stage: Stage) {
	report.begin(`${ALL} hostile texts`);
	await control(report, stage);
	const { target } = stage;
	const sentry = new Sentry(new URL(target.holdfast.url).origin);
	const { context, page, ui } = await openPage(stage, (context) => sentry.watch(context));
	const scene = { target, page, ui, sentry };
	try {
		const ways = {
			'as streamed Markdown, in small pieces': said,
			'as commands, and as their output': printed,
			'as the names of sessions in the list': listed,
			'as the name of the session that is open': named,
			'in a session file': kept,
			'as questions of an extension': asked,
			'as errors of the provider': refused,
		};
		for (const [way, go] of Object.entries(ways)) {
			const shown = await go(scene);
			const found = await sentry.take(page);
			report.line(way, `${ALL} shown, nothing else`, `${shown} shown, ${found || 'nothing else'}`);
		}
	} finally {
		target.play = () => [{ text: 'Yes.', pace: 0 }];
		await context.close();
	}
}

/** The same texts as HTML in a page that trusts them: what watches must see something. */
async function control(report: Report, { browser }: Stage) {
	const server = createServer((_request, response) => {
		response.setHeader('Content-Type', 'text/html');
		response.end('<!doctype html><body>A page.</body>');
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	const sentry = new Sentry(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
	const context = await browser.newContext();
	try {
		await sentry.watch(context);
		const page = await context.newPage();
		await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
		await page.evaluate(
			(texts) => {
				for (const text of texts) {
					const element = document.body.appendChild(document.createElement('div'));
					element.innerHTML = text;
				}
			},
			HOSTILE.filter((text) => !/<meta|<form name/.test(text)),
		);
		await until('a breach', () => sentry.sees('window.pwned was set'));
		const found = await sentry.take(page);
		const seen = ['window.pwned', 'evil.example', 'an element', 'an attribute', 'a link'];
		const missing = seen.filter((word) => !found.includes(word));
		report.line(
			'in a page that trusts them',
			'all kinds of harm are seen',
			missing.length === 0 ? 'all kinds of harm are seen' : `not seen: ${missing.join()}`,
		);
	} finally {
		await context.close();
		server.close();
		server.closeAllConnections();
	}
}

/** How many of the texts are somewhere on the page. */
async function count(page: Page, where: string) {
	const text = await page
		.locator(where)
		.evaluateAll((all) => all.map((one) => one.textContent).join('\n'));
	return HOSTILE.filter((_, index) => text.includes(markOf(index))).length;
}

/** Waits until the page shows it, looking at each frame of it. */
const shows = (page: Page, where: string, text: string) =>
	page.waitForFunction(
		([where, text]) =>
			[...document.querySelectorAll(where)].some((one) => one.textContent?.includes(text)),
		[where, text] as const,
	);

/** Another tab on the session that the page has open: it asks, and the page shows. */
async function asking(target: Target, page: Page) {
	await page.waitForURL(/session=/);
	const session = new URL(page.url()).searchParams.get('session')!;
	const tab = new Tab(await login(target.holdfast.address()), session, false);
	await tab.open();
	return tab;
}

/** Three characters at a time, so that most cuts are within something. */
const pieces = (text: string): Step[] =>
	(text.match(/[^]{1,3}/g) ?? []).map((text) => ({ text, pace: 0 }));

/** One answer for each, all in one run: between two of them the model runs a command. */
async function said({ target, page, ui }: Scene) {
	let turn = 0;
	target.play = () => {
		const index = turn++;
		if (index >= ALL) return [{ text: 'All is said.', pace: 0 }];
		const text = marked(HOSTILE[index]!, index);
		const long = text.length > 600;
		const steps: Step[] = long ? [{ text, pace: 0 }] : pieces(text);
		return [...steps, { toolCall: { name: 'bash', arguments: { command: ':' } } }];
	};
	await ui.send('Say it all.');
	await expect(ui.answers.last()).toContainText('All is said.', { timeout: 90_000 });
	return count(page, '[data-role=assistant]');
}

async function printed({ target, page, ui }: Scene) {
	const folder = join(target.folder.cwd, 'hostile');
	mkdirSync(folder);
	for (const [index, text] of HOSTILE.entries()) {
		writeFileSync(join(folder, String(index)), marked(text, index));
	}
	const before = await ui.commands.count();
	// Four at a time: it is their texts that matter.
	const commands = Array.from({ length: Math.ceil(ALL / 4) }, (_, group) => {
		const indices = [0, 1, 2, 3].map((one) => group * 4 + one).filter((index) => index < ALL);
		return indices.map((index) => {
			const quoted = HOSTILE[index]!.replaceAll('\0', '').replaceAll("'", '"').slice(0, 500);
			return {
				toolCall: {
					name: 'bash',
					arguments: { command: `cat hostile/${index} # ${quoted.replaceAll('\n', ' ')}` },
				},
			};
		});
	});
	let turn = 0;
	target.play = () => commands[turn++] ?? [{ text: 'All is printed.', pace: 0 }];
	await ui.send('Print it all.');
	await expect(ui.answers.last()).toContainText('All is printed.', { timeout: 90_000 });
	await expect(ui.commands).toHaveCount(before + ALL);
	const texts = await ui.commands.allTextContents();
	const outputs = await ui.commands.locator('.body').allTextContents();
	const raw =
		texts.find((text) => REORDERING.test(text)) ?? outputs.find((text) => COMMANDING.test(text));
	if (raw !== undefined) return `${JSON.stringify(raw.slice(0, 80))} is`;
	const links = await ui.commands.locator('a').count();
	return links > 0 ? `${links} links are` : count(page, '[data-role=tool]');
}

/** Writes session files as Pi would have; more names than the list holds are put into it in turns. */
async function listed({ target, page, sentry }: Scene) {
	const folder = dirname(sessionFiles(target.folder)[0]!);
	const files = HOSTILE.map((text, index) =>
		writeSession(folder, target, [], marked(text, index).slice(0, 300)),
	);
	let seen = 0;
	for (let start = 0; start < ALL; start += NAMED) {
		const now = Date.now() / 1000 + start;
		const part = files.slice(start, start + NAMED);
		for (const file of part) utimesSync(file, now, now);
		await sentry.go(page, new URL('/', page.url()).href);
		await ready(page);
		const names = page.locator('aside li b');
		const last = markOf(start + part.length - 1);
		await expect(names.filter({ hasText: last })).toHaveCount(1);
		const texts = (await names.allTextContents()).join('\n');
		seen += part.filter((_, index) => texts.includes(markOf(start + index))).length;
	}
	return seen;
}

async function named({ target, page, ui }: Scene) {
	target.play = () => [{ text: 'Yes.', pace: 0 }];
	await page.getByRole('button', { name: 'New conversation' }).click();
	await ready(page);
	await ui.send('Have a name.');
	await expect(ui.answers.last()).toHaveText('Yes.');
	const tab = await asking(target, page);
	let seen = 0;
	for (const index of HOSTILE.keys()) {
		tab.prompt(`/name-it ${index}`);
		await shows(page, 'h1', markOf(index));
		if ((await page.title()).includes(markOf(index))) seen++;
	}
	tab.close();
	return seen;
}

/** Everything that a session file can hold, in each of its places. */
async function kept({ target, page, sentry, ui }: Scene) {
	const folder = dirname(sessionFiles(target.folder)[0]!);
	const model = { api: 'openai-completions', provider: 'scripted', model: 'script' };
	const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
	const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost };
	const messages = HOSTILE.flatMap((payload, index) => {
		const text = marked(payload, index);
		const call = { type: 'toolCall', id: `c${index}`, name: 'write', arguments: { path: text } };
		const said = [{ type: 'text', text }, { type: 'thinking', thinking: text }, call];
		const result = { toolCallId: call.id, toolName: 'write', isError: index % 2 === 0 };
		const failed = { stopReason: 'error', errorMessage: text };
		return [
			{ role: 'user', content: [{ type: 'text', text }] },
			{ role: 'assistant', content: said, ...model, usage, stopReason: 'toolUse' },
			{ role: 'toolResult', content: [{ type: 'text', text }], ...result },
			{ role: 'assistant', content: [], ...model, usage, ...failed },
		];
	});
	const file = writeSession(folder, target, messages, marked(HOSTILE[0]!, 0));
	const id = /_(.+)\.jsonl$/.exec(file)![1]!;
	await sentry.go(page, new URL(`/?session=${id}`, page.url()).href);
	await expect(ui.prompts.last()).toContainText(markOf(ALL - 1));
	const earlier = page.getByRole('button', { name: 'Earlier messages' });
	for (;;) {
		const first = await ui.prompts.first().textContent();
		if (first!.includes(markOf(0))) break;
		await earlier.click();
		await expect(ui.prompts.first()).not.toHaveText(first!);
	}
	const places = ['[data-role=user]', '[data-role=assistant]', '[data-role=tool]'];
	const counts = await Promise.all(places.map((place) => count(page, place)));
	return Math.min(...counts);
}

/** Dialogs, notices, states and widgets of an extension. */
async function asked({ page, sentry, ui }: Scene) {
	await sentry.go(page, new URL('/', page.url()).href);
	await ready(page);
	await ui.send('/ask');
	const dialog = 'section[aria-label="Question from a Pi extension"]';
	let seen = 0;
	for (const index of HOSTILE.keys()) {
		await shows(page, dialog, markOf(index));
		seen++;
		await page.evaluate((dialog) => {
			const buttons = [...document.querySelectorAll<HTMLElement>(`${dialog} .actions button`)];
			buttons.find((one) => /Dismiss|No/.test(one.textContent!))!.click();
		}, dialog);
	}
	await expect(page.locator(dialog)).toHaveCount(0);
	return Math.min(seen, await count(page, '[role=log]'));
}

/** Each as an answer of the provider that refuses; asked by another tab, and shown in this one. */
async function refused({ target, page, ui }: Scene) {
	target.play = () => [{ text: 'Yes.', pace: 0 }];
	await ui.send('Hello.');
	await expect(ui.answers.last()).toHaveText('Yes.');
	let index = 0;
	target.play = () => ({
		...{ status: 400, type: 'invalid_request_error' },
		message: marked(HOSTILE[index]!, index),
	});
	const tab = await asking(target, page);
	let seen = 0;
	for (; index < ALL; index++) {
		tab.prompt('Again.');
		await shows(page, 'section[aria-label=Failed]', markOf(index));
		seen++;
	}
	tab.close();
	return seen;
}

function writeSession(
	folder: string,
	{ folder: { cwd } }: Target,
	messages: object[],
	name: string,
) {
	const id = randomUUID();
	const timestamp = new Date().toISOString();
	let parentId: string | null = null;
	const entry = (type: string, more: object) => {
		const id = (count++).toString(16).padStart(8, '0');
		const made = { type, id, parentId, timestamp, ...more };
		parentId = id;
		return made;
	};
	let count = 0;
	const lines = [
		{ type: 'session', version: 3, id, timestamp, cwd },
		...messages.map((message) =>
			entry('message', { message: { ...message, timestamp: Date.now() } }),
		),
		entry('session_info', { name }),
	];
	const file = join(folder, `${timestamp.replace(/[:.]/g, '-')}_${id}.jsonl`);
	writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
	return file;
}
