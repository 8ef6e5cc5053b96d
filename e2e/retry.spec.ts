import { readFileSync } from 'node:fs';
import { bash, error, expect, firstTurn, QUICK, test } from './holdfast.ts';

const QUICKLY = { settings: QUICK };
/** Waits that outlast a slow machine's click. */
const PATIENT = { settings: { retry: { baseDelayMs: 20_000 } } };
const words = (count: number) => Array.from({ length: count }, (_, i) => `word${i}`).join(' ');

test('429, then 503, then an answer: two waits of 2 and 4 s, the answer once, the notice gone', async ({
	page,
	start,
	ui,
}) => {
	const { url, provider } = await start(({ attempt }) =>
		attempt <= 2 ? error(attempt === 1 ? 429 : 503) : [{ text: 'Here is the answer.' }],
	);
	await page.goto(url);
	await ui.send('Work, please.');

	await expect(ui.progress).toHaveAttribute('aria-valuemax', '2');
	await expect(page.getByText('attempt 1 of 3')).toBeVisible();
	await expect(page.getByText('Rate limited. Trying again in')).toBeVisible();
	await expect(page.getByText('scripted 429')).toBeVisible();
	expect(await ui.progress.getAttribute('aria-valuetext')).toMatch(/^[12] seconds? left of 2 s$/);

	await expect(ui.progress).toHaveAttribute('aria-valuemax', '4');
	await expect(page.getByText('attempt 2 of 3')).toBeVisible();
	await expect(page.getByText('The provider is overloaded. Trying again in')).toBeVisible();

	await expect(ui.answers).toHaveText(['Here is the answer.']);
	await expect(ui.progress).toHaveCount(0);
	await expect(
		page.getByText(/answered after 2 failed attempts, [6-9](\.\d)? s of waiting/),
	).toBeVisible();
	await ui.rested();
	expect(provider.requests).toHaveLength(3);
});

test('nothing looks finished between a failed attempt and its retry', async ({
	page,
	start,
	ui,
}) => {
	const { url } = await start(
		({ attempt }) => (attempt <= 2 ? error(429) : [{ text: 'Done.' }]),
		QUICKLY,
	);
	await page.goto(url);
	await expect(ui.message).toBeVisible();
	// Looks at every change of the page: while there is work to do, "Stop" must never be gone.
	await page.evaluate(() => {
		const seen: string[] = [];
		Object.assign(window, { seen });
		new MutationObserver(() => {
			const stop = [...document.querySelectorAll('button')].some(
				(b) => b.textContent?.trim() === 'Stop',
			);
			const state = stop ? 'busy' : 'at rest';
			if (seen.at(-1) !== state) seen.push(state);
		}).observe(document.body, { childList: true, subtree: true, characterData: true });
	});
	await ui.send('Work, please.');

	await expect(ui.answers).toHaveText(['Done.']);
	await ui.rested();
	const seen = await page.evaluate(() => (window as unknown as { seen: string[] }).seen);
	expect(seen).toEqual(['at rest', 'busy', 'at rest']);
});

test('retries run out: a card says so, and "Try again" goes on without a second prompt', async ({
	page,
	start,
	ui,
}) => {
	const { url, provider } = await start(
		({ attempt }) => (attempt <= 4 ? error(529, 'Overloaded') : [{ text: 'There was room.' }]),
		QUICKLY,
	);
	await page.goto(url);
	await ui.send('Only once.');

	await expect(page.getByText('The provider is overloaded', { exact: true })).toBeVisible();
	await expect(page.getByText(/gave up after 3 retries/)).toBeVisible();
	expect(provider.requests).toHaveLength(4);

	await ui.button('Try again').click();
	await expect(ui.answers).toHaveText(['There was room.']);
	await expect(ui.button('Try again')).toHaveCount(0);
	await expect(ui.prompts).toHaveCount(1);
	expect(provider.requests.at(-1)!.messages).toEqual(provider.requests[0]!.messages);
	expect(provider.requests.at(-1)!.messages.map(({ text }) => text)).toEqual(['Only once.']);
});

test('"Cancel retry" ends the wait for good, and says cancelled', async ({ page, start, ui }) => {
	const { url, provider } = await start(() => error(429), {
		settings: { retry: { baseDelayMs: 5_000 } },
	});
	await page.goto(url);
	await ui.send('Work, please.');
	await expect(ui.progress).toBeVisible();

	await ui.button('Cancel retry').click();
	await expect(page.getByText('Retry cancelled', { exact: true })).toBeVisible();
	await expect(ui.progress).toHaveCount(0);
	await ui.rested();

	// Longer than the wait would have been: the next request is the one asked for.
	await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 5_500)));
	expect(provider.requests).toHaveLength(1);
});

test('"Cancel retry" with a message queued: no request follows, and its text is back in the box', async ({
	page,
	start,
	ui,
}) => {
	const { url, provider } = await start(() => error(429), {
		settings: { retry: { baseDelayMs: 5_000 } },
	});
	await page.goto(url);
	await ui.send('Work, please.');
	await expect(ui.progress).toBeVisible();
	await ui.message.fill('And then this.');
	await ui.button('After this').click();
	await expect(page.getByRole('region', { name: 'Waiting messages' })).toContainText(
		'And then this.',
	);

	await ui.button('Cancel retry').click();
	await expect(ui.message).toHaveValue('And then this.');
	await expect(page.getByText('Retry cancelled', { exact: true })).toBeVisible();
	await expect(page.getByRole('region', { name: 'Waiting messages' })).toHaveCount(0);
	await expect(page.getByRole('region', { name: 'Messages not sent' })).toHaveCount(0);

	await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 5_500)));
	expect(provider.requests).toHaveLength(1);
	await expect(ui.prompts).toContainText(['Work, please.']);
});

test('"Retry now" sends the request at once', async ({ page, start, ui }) => {
	const { url, provider } = await start(
		({ attempt }) => (attempt === 1 ? error(503) : [{ text: 'Sooner.' }]),
		{ settings: { retry: { baseDelayMs: 8_000 } } },
	);
	await page.goto(url);
	await ui.send('Work, please.');
	await expect(ui.progress).toHaveAttribute('aria-valuemax', '8');

	await ui.button('Retry now').click();
	await expect(ui.answers).toHaveText(['Sooner.']);
	expect(provider.requests).toHaveLength(2);
	const [first, second] = provider.requests;
	expect(second!.receivedAt - first!.receivedAt).toBeLessThan(7_000);
	await expect(page.getByText(/answered after 1 failed attempt/)).toBeVisible();
});

test('auto-retry off: one request, the card at once, still off later and after a reload', async ({
	page,
	start,
	ui,
}) => {
	const { url, provider, settingsFile } = await start(({ attempt, messages }) =>
		attempt === 1 ? error(429) : [{ text: `Answer ${messages.length}.` }],
	);
	const before = readFileSync(settingsFile);
	await page.goto(url);
	await expect(ui.autoRetry).toBeChecked();
	await ui.autoRetry.click();
	await expect(ui.autoRetry).not.toBeChecked();

	await ui.send('First.');
	await expect(page.getByText('automatic retries are off')).toBeVisible();
	expect(provider.requests).toHaveLength(1);
	await ui.button('Try again').click();
	await expect(ui.answers).toHaveText(['Answer 1.']);

	await page.reload();
	await expect(ui.answers).toHaveText(['Answer 1.']);
	await expect(ui.autoRetry).not.toBeChecked();
	await ui.send('Second.');
	await expect(page.getByText('automatic retries are off')).toBeVisible();
	expect(provider.requests).toHaveLength(3);
	await ui.button('Try again').click();
	await expect(ui.answers).toHaveText(['Answer 1.', 'Answer 3.']);

	expect(readFileSync(settingsFile).equals(before)).toBe(true);
});

test('retries switched off in the settings of Pi: the switch says why it cannot be turned on', async ({
	page,
	start,
	ui,
}) => {
	const { url } = await start(() => error(429), { settings: { retry: { enabled: false } } });
	await page.goto(url);
	await expect(ui.autoRetry).not.toBeChecked();
	await ui.autoRetry.click();

	await expect(page.getByRole('alert')).toContainText('settings.json');
	await expect(ui.autoRetry).not.toBeChecked();
});

test('the text of an attempt that broke off is not in the answer', async ({ page, start, ui }) => {
	const { url } = await start(
		({ attempt }) =>
			attempt === 1
				? [{ text: 'Twenty characters, more' }, { drop: true }]
				: [{ text: 'The whole answer.' }],
		QUICKLY,
	);
	await page.goto(url);
	await ui.send('Work, please.');

	await expect(ui.answers).toHaveText(['The whole answer.']);
	await expect(ui.log).not.toContainText('Twenty');
	// Nothing that was seen is lost.
	await page.getByRole('button', { name: /answered after 1 failed attempt/ }).click();
	await expect(ui.log).toContainText('Twenty characters, more');
});

test('stopping while a retried request hangs never says recovered', async ({ page, start, ui }) => {
	const { url } = await start(
		({ attempt }) => (attempt === 1 ? error(503) : [{ hang: true }]),
		QUICKLY,
	);
	await page.goto(url);
	await ui.send('Work, please.');
	await expect(page.getByText('Trying again now')).toBeVisible();
	await page.evaluate(() => {
		const claims: string[] = [];
		Object.assign(window, { claims });
		new MutationObserver(() => {
			const text = document.body.textContent ?? '';
			if (/answered after|recovered/.test(text)) claims.push(text);
		}).observe(document.body, { childList: true, subtree: true, characterData: true });
	});

	await ui.button('Stop').click();
	await expect(page.getByText('stopped by you')).toBeVisible();
	await ui.rested();
	expect(await page.evaluate(() => (window as unknown as { claims: string[] }).claims)).toEqual([]);
	await expect(ui.log).toContainText('stopped after: provider overloaded');
});

test('a prompt sent while a retry waits is shown at once and answered', async ({
	page,
	start,
	ui,
}) => {
	const { url, provider } = await start(
		({ attempt, messages }) =>
			attempt === 1 && messages.length === 1 ? error(429) : [{ text: `Heard ${messages.length}.` }],
		PATIENT,
	);
	await page.goto(url);
	await ui.send('First.');
	await expect(ui.progress).toBeVisible();
	await ui.send('And this.');
	await expect(page.getByText('And this.').first()).toBeVisible();
	await ui.button('Retry now').click();

	await expect(ui.answers.last()).toHaveText('Heard 2.');
	await expect(ui.prompts).toContainText(['First.', 'And this.']);
	await ui.rested();
	expect(provider.requests.at(-1)!.messages.map(({ text }) => text)).toEqual([
		'First.',
		'And this.',
	]);
});

test('Stop works while a retry waits', async ({ page, start, ui }) => {
	const { url, provider } = await start(() => error(429), PATIENT);
	await page.goto(url);
	await ui.send('Work, please.');
	await expect(ui.progress).toBeVisible();
	await ui.button('Stop').click();

	await expect(page.getByText('stopped by you')).toBeVisible();
	await ui.rested();
	expect(provider.requests).toHaveLength(1);
});

test('Escape cancels the retry, and the hint says so', async ({ page, start, ui }) => {
	const { url } = await start(() => error(429), PATIENT);
	await page.goto(url);
	await ui.send('Work, please.');
	await expect(page.getByText('cancels the retry')).toBeVisible();
	await ui.message.press('Escape');
	await expect(page.getByText('Retry cancelled', { exact: true })).toBeVisible();
});

test('an error that Pi does not retry gets a card that says what kind it is', async ({
	page,
	start,
	ui,
}) => {
	const { url, provider } = await start(({ attempt }) =>
		attempt === 1 ? error(401, 'invalid x-api-key') : [{ text: 'Let in.' }],
	);
	await page.goto(url);
	await ui.send('Work, please.');
	await expect(page.getByText('The provider refused the sign-in')).toBeVisible();
	expect(provider.requests).toHaveLength(1);
	await ui.button('Try again').click();
	await expect(ui.answers).toHaveText(['Let in.']);
	expect(provider.requests[1]!.messages).toEqual(provider.requests[0]!.messages);
});

test('"Try again" after a tool ran does not run the tool again', async ({ page, start, ui }) => {
	let failures = 0;
	const { url, provider } = await start((request) =>
		firstTurn(request)
			? [bash('echo ran >> count.txt')]
			: failures++ === 0
				? error(401)
				: [{ text: 'Gone on.' }],
	);
	await page.goto(url);
	await ui.send('Work, please.');
	await ui.button('Try again').click();
	await expect(ui.answers).toHaveText(['Gone on.']);
	await expect(ui.commands).toHaveCount(1);
	expect(provider.requests[2]!.messages).toEqual(provider.requests[1]!.messages);
});

test('a reload in mid-wait shows the bar where it was', async ({ page, context, start, ui }) => {
	const { url } = await start(() => error(429), PATIENT);
	await page.goto(url);
	await ui.send('Work, please.');
	await expect(ui.progress).toBeVisible();
	await expect(page).toHaveURL(/session=/);

	// One page reloads, the other stays; by the bar of each, the wait began at the same moment.
	const stayed = await context.newPage();
	await stayed.goto(page.url());
	await expect(stayed.getByRole('progressbar', { name: 'Retry' })).toBeVisible();
	await page.reload();
	await expect(ui.progress).toBeVisible();

	const began = () => {
		const bar = document.querySelector('[role=progressbar] i')!;
		// What the bar shows is as of the page's last frame, which may be a while ago.
		const frame = performance.timeOrigin + Number(document.timeline.currentTime);
		return frame - new DOMMatrix(getComputedStyle(bar).transform).a * 20_000;
	};
	const [a, b] = await Promise.all([page.evaluate(began), stayed.evaluate(began)]);
	expect(Math.abs(a - b)).toBeLessThan(250);
	await expect(page.getByText('attempt 1 of 3')).toBeVisible();
});

test('a reload in mid-stream ends in the same page as one that stayed', async ({
	page,
	context,
	start,
	ui,
}) => {
	const text = words(160);
	const { url } = await start(() => [{ text, pace: 20 }]);
	await page.goto(url);
	await ui.send('Work, please.');
	await expect(ui.answers).toContainText('word20');

	const stayed = await context.newPage();
	await stayed.goto(page.url());
	await expect(stayed.getByRole('log')).toContainText('word40');
	await page.reload();
	await expect(ui.answers).toHaveText([text]);
	await ui.rested();
	const html = (one: typeof page) => one.getByRole('log').innerHTML();
	await expect(stayed.getByRole('log').locator('[data-role=assistant]')).toHaveText([text]);
	await expect(async () => expect(await html(page)).toBe(await html(stayed))).toPass();
});
