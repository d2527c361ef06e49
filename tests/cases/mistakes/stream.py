# %%
#| flowc: ingest
lines = (line.split(",") for line in open("trips.csv"))

# %%
#| flowc: train
print(len(list(lines)))
